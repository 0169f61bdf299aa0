// @ts-check
// Templates that become elements. Text always arrives as text: nothing here or elsewhere parses markup out of a string.

import { h } from '../vendor/preact.js';
import htm from '../vendor/htm.js';

export const html = htm.bind(h);
