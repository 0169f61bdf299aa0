//! The backends that every repository must behave the same on. A further one is one more implementation of [`Backend`]
//! and one more line in the macro.

use crate::world::World;
use silas_store::Store;

/// A place where a store can be opened, closed and opened again.
pub(crate) trait Backend {
    fn open(&self) -> Store;
}

/// Two files in a temporary directory.
pub(crate) struct Sqlite(World);

impl Sqlite {
    pub(crate) fn new() -> Self {
        Sqlite(World::new())
    }
}

impl Backend for Sqlite {
    fn open(&self) -> Store {
        self.0.open()
    }
}

/// Makes one test of each function on each backend.
macro_rules! on_every_backend {
    ($($name:ident),* $(,)?) => {
        mod sqlite {
            $(
                #[test]
                fn $name() {
                    super::$name(&crate::backend::Sqlite::new());
                }
            )*
        }
    };
}
pub(crate) use on_every_backend;
