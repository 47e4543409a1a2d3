//! The Python door to the engine: thin, typed, and it lets other Python threads run while the engine works.
//!
//! Arrays come in and go out as numpy; nothing here knows a formula.

mod network;
mod program;

use pyo3::create_exception;
use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;

create_exception!(_native, EngineError, PyValueError, "What was given to the engine cannot be run.");

fn to_python(error: eastwest_engine::Error) -> PyErr {
    match error {
        eastwest_engine::Error::Interrupted => PyKeyboardInterrupt::new_err("interrupted"),
        other => EngineError::new_err(other.to_string()),
    }
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("EngineError", module.py().get_type::<EngineError>())?;
    module.add_class::<network::Network>()
}
