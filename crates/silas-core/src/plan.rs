//! placeholder: helper writes this
