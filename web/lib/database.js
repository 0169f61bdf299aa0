// @ts-check
// IndexedDB, as far as this page needs it: the device key of each installation, and messages not yet sent.

/** @returns {Promise<IDBDatabase>} */
function open() {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open('silas', 1);
    request.onupgradeneeded = () => {
      request.result.createObjectStore('devices', { keyPath: 'installation' });
      request.result.createObjectStore('outbox', { keyPath: 'id' });
    };
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/**
 * @template T
 * @param {'devices' | 'outbox'} name
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

/** @param {'devices' | 'outbox'} store */
export const all = (store) => run(store, 'readonly', (s) => s.getAll());
/** @param {'devices' | 'outbox'} store @param {object} value */
export const put = (store, value) => run(store, 'readwrite', (s) => s.put(value));
/** @param {'devices' | 'outbox'} store @param {string} key */
export const remove = (store, key) => run(store, 'readwrite', (s) => s.delete(key));
