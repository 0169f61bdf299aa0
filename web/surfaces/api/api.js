// @ts-check
// The document of the doors, rendered from /openapi.json of this very server. Text is set as text; nothing comes from
// elsewhere. A paired browser can read what it describes: it signs each request.

import { load, used } from '../../lib/advanced.js';
import { base64url, utf8 } from '../../lib/bytes.js';
import { devices, sign } from '../../lib/keys.js';
import { timestamp } from '../../lib/time.js';

/** @typedef {Record<string, any>} Json */

/** @param {string} tag @param {string} [text] @param {Node[]} [children] */
function element(tag, text = '', children = []) {
  const made = document.createElement(tag);
  made.textContent = text;
  made.append(...children);
  return made;
}

/** The short name of a schema: what a reader needs before looking it up. @param {Json | boolean | undefined} schema @returns {string} */
function kind(schema) {
  if (!schema || typeof schema !== 'object') return 'anything';
  if (schema.$ref) return schema.$ref.split('/').pop();
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((/** @type {unknown} */ value) => JSON.stringify(value)).join(' | ');
  const either = schema.anyOf ?? schema.oneOf;
  if (either) return either.map(kind).join(' | ');
  if (schema.type === 'array') return `${kind(schema.items)}[]`;
  return Array.isArray(schema.type) ? schema.type.join(' | ') : schema.type ?? 'object';
}

/** @param {Json} schema */
function fields(schema) {
  const required = new Set(schema.required ?? []);
  const rows = Object.entries(schema.properties ?? {}).flatMap(([name, field]) => [
    element('dt', `${name}${required.has(name) ? '' : '?'}: ${kind(field)}`),
    element('dd', field.description ?? ''),
  ]);
  return element('dl', '', rows);
}

/** One schema: its fields, or its variants with theirs. @param {string} name @param {Json} schema */
function type(name, schema) {
  const title = element('h3', name);
  title.id = name;
  const parts = [title, element('p', schema.description ?? '')];
  const variants = (schema.oneOf ?? schema.anyOf ?? []).filter((/** @type {Json} */ variant) => variant.properties || variant.const || variant.$ref);
  for (const variant of variants) {
    parts.push(element('p', '', [element('code', variant.properties?.type?.const ?? kind(variant))]), element('p', variant.description ?? ''), fields(variant));
  }
  parts.push(schema.properties ? fields(schema) : element('p', variants.length ? '' : kind(schema)));
  return element('section', '', parts);
}

/** Reads a path as the paired device of this browser. @param {string} path */
async function read(path) {
  const device = (await devices()).at(-1);
  if (!device) return 'This browser is not paired, so it cannot read this.';
  const claim = { key: device.key, timestamp: timestamp(), nonce: `n-${crypto.randomUUID()}` };
  /** @type {import('../../protocol.js').ReadProof} */
  const proof = { kind: 'read', path, installation: device.installation, ...claim };
  /** @type {import('../../protocol.js').Credentials} */
  const credentials = { ...claim, signature: await sign(device, proof), token: device.access ?? null };
  const response = await fetch(path, { headers: { authorization: `Silas ${base64url(utf8(JSON.stringify(credentials)))}` }, cache: 'no-store' });
  const text = await response.text();
  try {
    return `${response.status}\n${JSON.stringify(JSON.parse(text), null, 2)}`;
  } catch {
    return `${response.status}\n${text}`;
  }
}

/** @param {string} path @param {string} method @param {Json} operation */
function endpoint(path, method, operation) {
  const parts = [element('h3', `${method.toUpperCase()} ${path}`), element('p', operation.summary ?? ''), element('p', operation.description ?? '')];
  for (const [status, answer] of Object.entries(operation.responses ?? {})) {
    const schema = answer.content?.['application/json']?.schema;
    parts.push(element('p', `${status}: ${answer.description}${schema ? ` (${kind(schema)})` : ''}`));
  }
  if (method === 'get' && operation.security) {
    const shown = element('pre');
    shown.hidden = true;
    const button = element('button', `Read ${path} with this browser's key`);
    button.addEventListener('click', async () => {
      shown.hidden = false;
      shown.textContent = await read(path).catch(String);
    });
    parts.push(button, shown);
  }
  return element('section', '', parts);
}

const place = /** @type {HTMLElement} */ (document.getElementById('api'));
try {
  /** @type {Json} */
  const api = await (await fetch('/openapi.json', { cache: 'no-store' })).json();
  const schemas = Object.entries(api.components.schemas);
  const first = ['ClientMessage', 'ServerMessage'];
  place.append(
    element('h1', `${api.info.title} ${api.info.version}`),
    element('p', api.info.description),
    element('h2', 'Endpoints'),
    ...Object.entries(api.paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, operation]) => endpoint(path, method, operation))),
    element('h2', 'Messages of the WebSocket'),
    ...first.map((name) => type(name, api.components.schemas[name])),
    element('h2', 'Types'),
    ...schemas.filter(([name]) => !first.includes(name)).map(([name, schema]) => type(name, schema)),
  );
} catch (problem) {
  place.append(element('p', `Silas does not answer. ${problem}`));
}

// Whoever has read this finds it again in More.
void load().then(() => used('programs'));
