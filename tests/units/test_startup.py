import subprocess
import sys


def test_pint_is_not_imported_until_a_quantity_is_read():
    code = "import sys, eastwest.units; sys.exit('pint' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
