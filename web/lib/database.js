// @ts-check
// IndexedDB, as far as this page needs it: the device key of each installation, messages not yet sent, the last head of
// each ledger that was seen here, and what the owner chose for this browser.

/** @returns {Promise<IDBDatabase>} */
function open() {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open('silas', 3);
    request.onupgradeneeded = () => {
      for (const [name, keyPath] of [['devices', 'installation'], ['outbox', 'id'], ['heads', 'installation'], ['choices', 'name']]) {
        if (!request.result.objectStoreNames.contains(name)) request.result.createObjectStore(name, { keyPath });
      }
    };
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/**
 * @template T
 * @param {'devices' | 'outbox' | 'heads' | 'choices'} name
 * @param {IDBTransactionMode} mode
 * @param {(store: IDBObjectStore) => IDBRequest<T>} act
 * @returns {Promise<T>}
 */
async function run(name, mode, act) {
  const database = await open();
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

/** @param {'devices' | 'outbox' | 'heads' | 'choices'} store */
export const all = (store) => run(store, 'readonly', (s) => s.getAll());
/** @param {'devices' | 'outbox' | 'heads' | 'choices'} store @param {object} value */
export const put = (store, value) => run(store, 'readwrite', (s) => s.put(value));
/** @param {'devices' | 'outbox' | 'heads' | 'choices'} store @param {string} key */
export const remove = (store, key) => run(store, 'readwrite', (s) => s.delete(key));
