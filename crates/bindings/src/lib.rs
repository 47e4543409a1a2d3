//! The Python door to the engine: thin, typed, and it lets other Python threads run while the engine works.
//!
//! Arrays come in and go out as numpy; nothing here knows a formula.

mod capture;
mod classes;
mod flows;
mod network;
mod packets;
mod program;
mod series;
mod settings;

use pyo3::create_exception;
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

create_exception!(_native, EngineError, PyValueError, "What was given to the engine cannot be run.");
create_exception!(_native, UnreachableError, EngineError, "Two that must talk have no path.");

fn to_python(error: eastwest_engine::Error) -> PyErr {
    match error {
        eastwest_engine::Error::Interrupted => PyKeyboardInterrupt::new_err("interrupted"),
        apart @ eastwest_engine::Error::Unreachable { .. } => UnreachableError::new_err(apart.to_string()),
        // a fault of the engine is no mistake in what it was given
        fault @ eastwest_engine::Error::Internal(_) => PyRuntimeError::new_err(fault.to_string()),
        other => EngineError::new_err(other.to_string()),
    }
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("EngineError", module.py().get_type::<EngineError>())?;
    module.add("UnreachableError", module.py().get_type::<UnreachableError>())?;
    module.add_function(wrap_pyfunction!(classes::headroom_bytes, module)?)?;
    module.add_class::<capture::Capture>()?;
    module.add_class::<network::Network>()?;
    module.add_class::<packets::PacketNetwork>()
}
