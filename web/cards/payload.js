// @ts-check
// What would be signed, read from the payload itself and put into words here, so that the page does not have to
// believe the face of a card about it.

import { quotation } from '../lib/hidden.js';
import { span } from '../lib/time.js';

/** @typedef {import('../protocol.js').Detail} Detail */

/** One word of a list, in quotes where a shell would not take it as one word and as it is. @param {string} word */
const quoted = (word) => (/^[\p{L}\p{N}_@%+=:,./-]+$/u.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

/** A command as a person would type it; two lists that differ read differently. @param {string | string[] | { python: string }} run */
const typed = (run) => (Array.isArray(run) ? run.map(quoted).join(' ') : typeof run === 'string' ? run : `python: ${run.python}`);

/** @param {Record<string, unknown>} expect */
function expectation(expect) {
  const [[what, value]] = Object.entries(expect);
  /** @type {Record<string, string>} */
  const words = {
    exit_code: `ends with code ${value}`,
    equals: `prints exactly “${value}”`,
    contains: `prints “${value}”`,
    regex: `prints what matches ${value}`,
    output_lt: `prints less than ${value}`,
    output_gt: `prints more than ${value}`,
    file_exists: `leaves ${value} there`,
    not_empty: 'prints something',
  };
  return words[what] ?? `${what} ${value}`;
}

/** What the plan lets out without asking again. @param {any} plan @returns {string[]} */
function leaving({ exits, flows }) {
  return [
    ...(exits?.paths ?? []).map((/** @type {string} */ path) => `Puts in place: ${path}`),
    ...(exits?.queries ?? []).map((/** @type {string} */ query) => `Searches for: ${query}`),
    ...flows.map((/** @type {any} */ flow) => `${flow.from === 'web' ? 'Text from the web' : 'Text of your files'} may go to: ${flow.to}`),
  ];
}

/** What the plan leaves to a model. @param {any} plan @returns {string[]} */
function leftToModel({ executor }) {
  if (!executor) return [];
  return [
    executor.model ?? 'A model',
    `At most ${executor.max_model_calls} questions and ${executor.max_tool_calls} calls of tools`,
    `With ${executor.tools.join(', ')}`,
  ];
}

/** Who alone may reach a host, if the plan says so. @param {any} plan @param {string} host */
function onlyFor({ sandbox }, host) {
  const who = (/** @type {any} */ by) => (by === 'model' ? 'what the model runs' : 'step' in by ? `step ${by.step + 1}` : `the check called ${quotation(by.check)}`);
  const named = (sandbox.hosts_for ?? []).filter((/** @type {any} */ only) => only.host === host);
  return named.length === 0 ? '' : `, only for ${named.map((/** @type {any} */ only) => who(only.by)).join(', ')}`;
}

/** @param {any} plan @returns {Detail[]} */
function planDetails(plan) {
  const { budget } = plan;
  return [
    { title: 'Steps', lines: plan.steps.map((/** @type {any} */ step) => (step.cwd ? `${typed(step.run)}, in ${step.cwd}` : typed(step.run))) },
    { title: 'Left to a model', lines: leftToModel(plan) },
    { title: 'Checks', lines: plan.verify.map((/** @type {any} */ check) => `${typed(check.run)} ${expectation(check.expect)}, within ${span(check.timeout * 1000)}${check.network ? ', with network' : ''}; called ${quotation(check.name)}`) },
    { title: 'Directories', lines: plan.sandbox.directories.map((/** @type {any} */ place) => `${place.path}, ${place.access === 'write' ? 'read and change' : 'read only'}`) },
    { title: 'Network', lines: plan.sandbox.hosts.length === 0 ? ['None'] : plan.sandbox.hosts.map((/** @type {string} */ host) => `${host}${onlyFor(plan, host)}`) },
    { title: 'Secrets', lines: plan.sandbox.secrets ?? [] },
    { title: 'Tools, to read', lines: plan.sandbox.toolchains.map((/** @type {any} */ tool) => `${tool.family}: ${tool.path}`) },
    { title: 'Opens a port', lines: plan.sandbox.callback_port ? [`Port ${plan.sandbox.callback_port} of this machine, for a login`] : [] },
    { title: 'Commits', lines: plan.sandbox.commits ? ['In a private clone; branches and tags that moved are brought over with the files'] : [] },
    { title: 'Puts back', lines: plan.sandbox.restores ? ['The files that an earlier plan replaced, unless they were changed since'] : [] },
    { title: 'Brings together', lines: plan.sandbox.merges ? ['Your version of these files, and Silas’s change of them; exactly what was kept of both', `Changes ${plan.sandbox.merges.changeset}`] : [] },
    { title: 'What may leave the copy', lines: leaving(plan) },
    { title: 'Limits', lines: limits(budget) },
    { title: 'You asked', lines: plan.planned ? [plan.planned.asked] : [] },
    { title: plan.planned ? `In the words of ${plan.planned.by}` : 'In full', lines: plan.body ? [plan.body] : [] },
  ];
}

/** What the owner said that it costs; nothing where the list is asked. @param {import('../protocol.js').Price | null} price */
function costs(price) {
  if (!price) return [];
  if (price.input === 0 && price.output === 0) return ['Nothing'];
  const [into, out] = [price.input, price.output].map((micro) => `$${(micro / 1_000_000).toFixed(6).replace(/0{1,4}$/, '')}`);
  return [`${into} and ${out} for a million tokens in and out`];
}

/** Where no model takes part there is no money to speak of. @param {any} budget */
function limits({ max_wall_time_seconds, max_attempts, max_tokens, max_cost_microusd }) {
  const time = span(max_wall_time_seconds * 1000);
  if (max_tokens === 0 && max_cost_microusd === 0) return [`${time} at most`, 'No model, no money'];
  return [`${time} and $${(max_cost_microusd / 1_000_000).toFixed(2)} at most`, `${max_attempts} attempts, ${max_tokens.toLocaleString('en')} tokens at most`];
}

/**
 * @param {import('../protocol.js').Card} card
 * @returns {Detail[]} Nothing where the payload says nothing that a person can read.
 */
export function signedDetails({ offer, payload, instead }) {
  const again = instead ? read(instead.offer, instead.payload).map(({ title, lines }) => ({ title: `If you redo it: ${title}`, lines })) : [];
  return [...read(offer, payload), ...again];
}

/** @param {import('../protocol.js').Offer | null} offer @param {string | null} payload @returns {Detail[]} */
function read(offer, payload) {
  if (!offer || payload === null) return [];
  try {
    const parsed = JSON.parse(payload);
    if (offer.kind === 'plan' || offer.kind === 'rehearsal') return planDetails(parsed).filter(({ lines }) => lines.length > 0);
    if (offer.kind === 'root') return [{ title: 'Directory', lines: [parsed.place.path] }];
    if (offer.kind === 'device') return [{ title: 'Passkey', lines: [parsed.name, `On pages of ${parsed.site.rp_id}`] }];
    if (offer.kind === 'model') return [{ title: 'Goes to', lines: [parsed.model] }, { title: 'For', lines: parsed.roles }, { title: 'Key', lines: [parsed.key] }, { title: 'Costs', lines: costs(parsed.price) }].filter(({ lines }) => lines.length > 0);
    if (offer.kind === 'budget') return [{ title: 'Allows', lines: [`$${(parsed.microusd / 1_000_000).toFixed(2)} more for ${parsed.period}`] }];
    if (offer.kind === 'step') return [{ title: 'The call', lines: [parsed.tool, parsed.arguments] }, { title: 'Wanted', lines: parsed.undeclared.map((/** @type {any} */ one) => one.value) }];
    return [];
  } catch {
    // The dock says that card and request differ; there is nothing to read out here.
    return [];
  }
}
