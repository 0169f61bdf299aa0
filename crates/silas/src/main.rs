//! The program. Everything is in the library beside it, so that a test can put the same parts together in a process of its own.

fn main() -> std::process::ExitCode {
    silas::main()
}
