// A host of this machine for the tests: counts who comes, and says one line to each as soon as it may. What is sent to it
// goes nowhere.

import { createServer } from 'node:net';

/** @param {string} line What it says. */
export async function startHost(line) {
  let n_visits = 0;
  let isOpen = true;
  const visitors = new Set();
  const serve = (visitor) => visitor.end(`${line}\n`);
  const server = createServer((visitor) => {
    n_visits += 1;
    visitors.add(visitor);
    // Whoever is killed breaks off.
    visitor.on('error', () => visitor.destroy()).on('close', () => visitors.delete(visitor)).resume();
    if (isOpen) serve(visitor);
  });
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  return {
    port: server.address().port,
    visits: () => n_visits,
    /** From now on it lets everybody wait. */
    hold: () => { isOpen = false; },
    serve: () => {
      isOpen = true;
      visitors.forEach(serve);
    },
    close: () => {
      visitors.forEach((visitor) => visitor.destroy());
      server.close();
    },
  };
}
