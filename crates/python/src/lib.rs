//! The Python extension module `cutthrough._core`: convert, call, convert.

use pyo3::prelude::*;

/// What the package `cutthrough` is built on; private to it.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}
