// @ts-check
// IndexedDB, as far as this page needs it: the device key of each installation, messages not yet sent, the last head of
// each ledger that was seen here, what the owner chose for this browser and how quickly they decide in it, and what the page
// last showed.

/** @typedef {'devices' | 'outbox' | 'heads' | 'choices' | 'last'} Name */

const KEYS = { version: 3, stores: { devices: 'installation', outbox: 'id', heads: 'installation', choices: 'name' } };
/** In a database of its own: a tab that still runs an older page could not open one whose version has gone up, and would lose what is typed there. */
const LAST = { version: 1, stores: { last: 'installation' } };

/** @param {Name} name @returns {Promise<IDBDatabase>} */
function open(name) {
  const { version, stores } = name === 'last' ? LAST : KEYS;
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(name === 'last' ? 'silas-last' : 'silas', version);
    request.onupgradeneeded = () => {
      for (const [store, keyPath] of Object.entries(stores)) {
        if (!request.result.objectStoreNames.contains(store)) request.result.createObjectStore(store, { keyPath });
      }
    };
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/**
 * @template T
 * @param {Name} name
 * @param {IDBTransactionMode} mode
 * @param {(store: IDBObjectStore) => IDBRequest<T>} act
 * @returns {Promise<T>}
 */
async function run(name, mode, act) {
  const database = await open(name);
  try {
    return await new Promise((resolve, reject) => {
      const transaction = database.transaction(name, mode);
      const request = act(transaction.objectStore(name));
      // Only the end of the transaction means that it is on disk.
      transaction.oncomplete = () => resolve(request.result);
      transaction.onabort = transaction.onerror = () => reject(transaction.error ?? request.error);
    });
  } finally {
    database.close();
  }
}

/** @param {Name} store */
export const all = (store) => run(store, 'readonly', (s) => s.getAll());
/** @param {Name} store @param {object} value */
export const put = (store, value) => run(store, 'readwrite', (s) => s.put(value));
/** @param {Name} store @param {string} key */
export const remove = (store, key) => run(store, 'readwrite', (s) => s.delete(key));

/** Puts a value unless what lies there speaks against it; nobody else writes in between. @param {Name} store @param {string} key @param {object} value @param {(found: any) => boolean} may */
export const putIf = (store, key, value, may) => run(store, 'readwrite', (s) => {
  const looking = s.get(key);
  looking.onsuccess = () => void (may(looking.result) && s.put(value));
  return looking;
});
