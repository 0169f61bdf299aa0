// A real Chromium for the tests, and what they measure in it.

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const SHOTS = fileURLToPath(new URL('shots/', import.meta.url));

/** The families that people have, by how wide they run: each browser of a test sees one of them and nothing else that is installed. */
export const LETTERS = { narrow: 'Roboto Condensed', usual: 'Liberation Sans', wide: 'DejaVu Sans' };
const fonts = (letters) => fileURLToPath(new URL(`fonts/${letters}.conf`, import.meta.url));

const how = (more, { letters = process.env.SILAS_LETTERS ?? 'usual', ...options } = {}) => ({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--no-first-run', ...more],
  env: { ...process.env, FONTCONFIG_FILE: fonts(letters) },
  ...options,
});

/** @param {string[]} [more] Further arguments of the browser. @param {{ letters?: keyof typeof LETTERS }} [options] `letters`: in which it writes; others as they are. */
export const launch = (more = [], options = {}) => chromium.launch(how(more, options));

/** A browser with a profile, as people have one; it goes with `close`. */
export async function ownProfile() {
  const profile = mkdtempSync(join(tmpdir(), 'silas-profile-'));
  const context = await chromium.launchPersistentContext(profile, how([]));
  const close = async () => {
    await context.close();
    // What belongs to the browser may still be writing there.
    rmSync(profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  };
  return { context, close };
}

/** Writes a picture of the page for people to look at. */
export async function shot(page, name) {
  mkdirSync(SHOTS, { recursive: true });
  // Pictures are of a page at rest: entrances are over or were called off, only the spinner and the countdown go on.
  await page.evaluate(() => Promise.all(document.getAnimations().filter((a) => a.effect?.getTiming().iterations !== Infinity).map((a) => a.finished.catch(() => undefined))));
  await page.screenshot({ path: `${SHOTS}${name}.png` });
}

/** Past the moment in which a tap on what has just come up would count as the second of a double tap. */
export async function settle(page) {
  await page.locator('.dock .button').first().waitFor();
  await page.waitForTimeout(400);
}

/**
 * How many pixels the page could be scrolled sideways, and what reaches out of it: also downwards, since only the surfaces in
 * it scroll. Where everything scrolls together on purpose, it is as long as what is shown and no longer.
 */
export const sideways = (page) => page.evaluate(async () => {
  // A sheet that is still sliding in is beside its place on purpose.
  await Promise.allSettled(document.getAnimations().filter((a) => Number.isFinite(a.effect.getComputedTiming().endTime)).map((a) => a.finished));
  const wide = [...document.querySelectorAll('body *')].filter((e) => !e.closest('.hidden') && e.getBoundingClientRect().right > innerWidth + 1);
  const { clientHeight, scrollHeight, scrollWidth } = document.documentElement;
  const together = matchMedia('(max-height: 30em) and (max-width: 959px)').matches || !document.querySelector('.frame');
  const whole = together ? Math.max(clientHeight, Math.ceil(document.querySelector('.frame, .pair')?.getBoundingClientRect().height ?? 0)) : innerHeight;
  // The height of a frame may be a fraction of a pixel, and a document is as many whole ones as it likes to make of that.
  const below = Math.abs(scrollHeight - whole) <= 1 ? [] : [`the document, ${scrollHeight} px in ${whole}`];
  return { by: scrollWidth - innerWidth, elements: [...below, ...wide.map((e) => e.className?.baseVal ?? e.className ?? e.tagName)] };
});

/** Where a control can be tapped, in the page: its box, or what a pseudo element makes of it, of the box itself or of what it stands in. */
const AREA = (control) => {
  const { left, top, right, bottom } = control.getBoundingClientRect();
  const grown = getComputedStyle(control, '::after');
  if (grown.content === 'none' || grown.position !== 'absolute') return { left, top, right, bottom };
  const around = (getComputedStyle(control).position === 'static' ? control.offsetParent : control).getBoundingClientRect();
  const by = (side) => parseFloat(grown[side]);
  const after = { left: around.left + by('left'), top: around.top + by('top'), right: around.right - by('right'), bottom: around.bottom - by('bottom') };
  return { left: Math.min(left, after.left), top: Math.min(top, after.top), right: Math.max(right, after.right), bottom: Math.max(bottom, after.bottom) };
};
const withAreas = (page, measure) => page.evaluate(`(${measure})(${AREA})`);

/** Controls that can be tapped and are smaller than 44 × 44, with their size. */
export const smallTargets = (page) => withAreas(page, (areaOf) => {
  const controls = [...document.querySelectorAll('button, a[href], textarea, summary, [role=slider], input:not([type=checkbox], .hidden), label:has(input)')].filter((e) => e.checkVisibility());
  return controls.flatMap((e) => {
    const { left, top, right, bottom } = areaOf(e);
    const size = [right - left, bottom - top];
    return Math.min(...size) >= 43.5 ? [] : [`${e.textContent.trim() || e.getAttribute('aria-label')}: ${size.map(Math.round).join(' × ')}`];
  });
});

/**
 * Words that do not stand whole where they stand: cut off by what holds them, or reaching out of what they are written on. What is
 * cut at a word on purpose (somebody's own words, one line of a version, the middle of a command, a model on top) stands whole in the details or in the Stream.
 */
export const cutTexts = (page) => page.evaluate(() => {
  const ON_PURPOSE = '.hidden, .checks.bare .mark-word, .check-begin, .asked, .ambient-model, .quote:not(.whole) .quote-text, .version .code, textarea, noscript';
  const isCutBy = (box, { overflowX, overflowY }, rect) => {
    const beside = rect.left < box.left - 1 || rect.right > box.right + 1;
    // Letters may be taller than their line, and what is above or below it is air.
    const above = rect.top + rect.height / 2 < box.top || rect.bottom - rect.height / 2 > box.bottom;
    return { beside: beside && !['auto', 'scroll'].includes(overflowX), above: above && !['auto', 'scroll'].includes(overflowY) };
  };
  const isPainted = ({ backgroundColor, borderTopWidth, display }) => display !== 'inline' && (!/, 0\)$|transparent/.test(backgroundColor) || parseFloat(borderTopWidth) > 0);
  const cut = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (!node.data.trim() || !node.parentElement.checkVisibility() || node.parentElement.closest(ON_PURPOSE)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const rects = [...range.getClientRects()].filter(({ width }) => width > 0);
    for (let e = node.parentElement; e && e !== document.body; e = e.parentElement) {
      const style = getComputedStyle(e);
      if (['auto', 'scroll'].includes(style.overflowY)) break;
      if (!isPainted(style) && style.overflowX === 'visible') continue;
      const box = e.getBoundingClientRect();
      if (rects.some((rect) => Object.values(isCutBy(box, style, rect)).some(Boolean))) {
        cut.push(`${node.data.trim().slice(0, 40)} in ${e.className}`);
        break;
      }
    }
  }
  return cut;
});

/** On how many lines the words of each stand, as they are painted. */
export const linesOf = (page, selector) => page.locator(selector).evaluateAll((all) => all.filter((e) => e.checkVisibility()).map((e) => {
  const walker = document.createTreeWalker(e, NodeFilter.SHOW_TEXT, (node) => (node.parentElement.closest('.hidden') ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT));
  const rects = [];
  while (walker.nextNode()) {
    const range = document.createRange();
    range.selectNodeContents(walker.currentNode);
    rects.push(...range.getClientRects());
  }
  const middles = rects.filter(({ width }) => width > 1).map(({ top, height }) => top + height / 2).sort((a, b) => a - b);
  const high = parseFloat(getComputedStyle(e).lineHeight) / 2;
  return { words: e.textContent.trim(), lines: middles.filter((middle, at) => at === 0 || middle - middles[at - 1] > high).length };
}));

/** What each of the next two measures with, in the page: what is painted behind an element, and how much one colour differs from another. */
const COLOURS = () => {
  const parse = (color) => {
    const [r, g, b, a = 1] = color.match(/[\d.]+/g).map(Number);
    return { r, g, b, a };
  };
  const over = (top, under) => ({ r: top.r * top.a + under.r * (1 - top.a), g: top.g * top.a + under.g * (1 - top.a), b: top.b * top.a + under.b * (1 - top.a), a: 1 });
  const luminance = ({ r, g, b }) => {
    const [R, G, B] = [r, g, b].map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * R + 0.7152 * G + 0.0722 * B;
  };
  const behind = (element) => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) layers.push(parse(getComputedStyle(e).backgroundColor));
    return layers.reverse().reduce((under, layer) => over(layer, under), parse(getComputedStyle(document.body).backgroundColor));
  };
  const ratio = (color, under) => {
    const [a, b] = [luminance(over(parse(color), under)), luminance(under)];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  };
  return { parse, behind, ratio };
};
const withColours = (page, measure) => page.evaluate(`(${measure})((${COLOURS})())`);

/** Every visible text, and every word that stands in an empty field, whose contrast with what is painted behind it is under 4.5:1. */
export const weakTexts = (page) => withColours(page, ({ behind, ratio }) => {
  const seen = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || !element.checkVisibility({ opacityProperty: true }) || element.closest('.hidden, noscript')) continue;
    seen.push([node.data.trim(), element, getComputedStyle(element)]);
  }
  for (const field of document.querySelectorAll('[placeholder]:placeholder-shown')) {
    if (field.checkVisibility()) seen.push([field.placeholder, field, getComputedStyle(field, '::placeholder')]);
  }
  return seen.map(([words, element, { color }]) => [words, ratio(color, behind(element))])
    .filter(([, contrast]) => contrast < 4.5).map(([words, contrast]) => `${words.slice(0, 30)}: ${contrast.toFixed(2)}`);
});

/**
 * Edges of fields, chips, buttons and the slide under 3:1 against what is around them, and fields without any. Rows and blocks
 * that can be tapped are found by their words, and what is off need not be found.
 */
export const weakEdges = (page) => withColours(page, ({ parse, behind, ratio }) => {
  const edgeOf = (element) => {
    const { borderTopWidth, borderTopStyle, borderTopColor } = getComputedStyle(element);
    return parseFloat(borderTopWidth) > 0 && borderTopStyle !== 'none' && parse(borderTopColor).a > 0 ? borderTopColor : null;
  };
  const isField = (element) => element.matches('textarea, input:not([type=checkbox], [type=radio], .hidden)');
  const box = (element) => (edgeOf(element) || !isField(element) ? element : element.closest('.entry-box, .composer-box') ?? element);
  const controls = [...document.querySelectorAll('.button, .filter, .change-chip, .slide, textarea, input, label:has(input)')].filter((e) => e.checkVisibility() && !e.disabled && !e.matches('.hidden'));
  return controls.flatMap((control) => {
    const edged = box(control);
    const edge = edgeOf(edged);
    const name = control.getAttribute('aria-label') ?? control.textContent.trim();
    if (!edge) return isField(control) ? [`${name}: no edge`] : [];
    const contrast = ratio(edge, behind(edged.parentElement));
    return contrast < 3 ? [`${name}: ${contrast.toFixed(2)}`] : [];
  });
});

/** What can be tapped and lies partly over something else that can, where both are seen. What scrolls under the dock is elsewhere a moment later. */
export const overlapping = (page) => withAreas(page, (areaOf) => {
  const isScroller = (e) => getComputedStyle(e).overflowX !== 'visible' || getComputedStyle(e).overflowY !== 'visible';
  const layerOf = (e) => (e === null || e.matches('dialog') || ['sticky', 'fixed'].includes(getComputedStyle(e).position) ? e : layerOf(e.parentElement));
  const seen = (control) => {
    const box = areaOf(control);
    for (let e = control.parentElement; e; e = e.parentElement) {
      if (!isScroller(e) || e === document.body || e === document.documentElement) continue;
      const clip = e.getBoundingClientRect();
      Object.assign(box, { left: Math.max(box.left, clip.left), top: Math.max(box.top, clip.top), right: Math.min(box.right, clip.right), bottom: Math.min(box.bottom, clip.bottom) });
    }
    return box;
  };
  const modal = document.querySelector('dialog[open]');
  const controls = [...(modal ?? document).querySelectorAll('button, a[href], textarea, summary, [role=slider], input:not([type=checkbox], .hidden), label:has(input)')].filter((e) => e.checkVisibility());
  const placed = controls.map((control) => ({ control, layer: layerOf(control), box: seen(control), name: control.textContent.trim() || control.getAttribute('aria-label') || control.id }));
  /** A fraction of a pixel is shared by neighbours. */
  const touches = ({ box: a }, { box: b }) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1;
  return placed.flatMap((one, at) => placed.slice(at + 1)
    .filter((other) => one.layer === other.layer && !one.control.contains(other.control) && !other.control.contains(one.control) && touches(one, other))
    .map((other) => `${one.name} and ${other.name}`));
});

/** What the page promises of every card, at 375 px and with text of the usual size. */
const BODY_PX_MAX = 300;
/** A seal is one line; only what limits it may take it to a second. */
const isOneLine = ({ words, lines }) => lines === 1 || (lines === 2 && /, (checks not protected|judges changed)$/.test(words));

/** Nothing sideways, nothing too small to tap, nothing over another, nothing cut; a seal on its line, a card in its height. */
export async function keepsItsContract(page, name, width) {
  assert.deepEqual(await sideways(page), { by: 0, elements: [] }, name);
  assert.deepEqual(await smallTargets(page), [], name);
  assert.deepEqual(await overlapping(page), [], name);
  assert.deepEqual(await cutTexts(page), [], name);
  assert.deepEqual((await linesOf(page, '.badge, .claim, .card-state')).filter((one) => !isOneLine(one)), [], name);
  if (width === 375) assert.deepEqual((await page.locator('.card-body').evaluateAll((all) => all.map((body) => body.offsetHeight))).filter((px) => px > BODY_PX_MAX), [], name);
}

/** What is missing for somebody who goes from landmark to landmark and from title to title: one of each, and one title a surface. */
export const missingPlaces = (page) => page.evaluate(() => {
  const count = (selector, within = document) => [...within.querySelectorAll(selector)].filter((e) => e.checkVisibility()).length;
  // The proof takes the whole of a narrow page, with its own way back; and whoever is not paired has nowhere to go.
  const isAlone = Boolean(document.querySelector('.pair, .frame:not(.wide) .proof'));
  const wanted = { main: 1, ...(!isAlone && { header: 1 }), ...(!document.querySelector('.pair') && { nav: 1 }) };
  const surfaces = [...document.querySelectorAll('.stream, .review, .activity, .proof, .pair')];
  return [
    ...Object.entries(wanted).filter(([name, n]) => count(name) !== n).map(([name]) => `${count(name)} × ${name}`),
    ...surfaces.filter((surface) => count('h1', surface) !== 1).map((surface) => `${surface.className}: ${count('h1', surface)} × h1`),
  ];
});

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What axe objects to, however little it minds, as rule and elements. Its script goes round the page's policy, by the debugger. */
export async function objections(page) {
  if (!await page.evaluate(() => 'axe' in window)) await page.evaluate(AXE);
  return page.evaluate(async () => {
    const { violations } = await window.axe.run(document, { resultTypes: ['violations'] });
    return violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map(({ html }) => html.slice(0, 120)).join(' | ')}`);
  });
}

/**
 * Controls without a name, and names that do not contain the words that are seen on the control: whoever speaks to the page says
 * what they see. What is drawn for the eye only (a key that could be pressed) is not part of the label.
 */
export const unnamed = (page) => page.evaluate(() => {
  const plain = (text) => text.replaceAll(/\s+/g, ' ').trim().toLowerCase();
  const isLeftOut = (node, also) => node.nodeType === Node.ELEMENT_NODE && (also(node) || !node.checkVisibility());
  const words = (node, also) => {
    if (node.nodeType === Node.TEXT_NODE) return node.data;
    if (isLeftOut(node, also)) return '';
    const inner = [...node.childNodes].map((child) => words(child, also)).join('');
    return getComputedStyle(node).display === 'inline' ? inner : ` ${inner} `;
  };
  const isSilent = (node) => node.getAttribute('aria-hidden') === 'true';
  const named = (node) => node.getAttribute('aria-label') ?? words(node, isSilent);
  const nameOf = (control) => {
    const by = control.getAttribute('aria-labelledby');
    if (by) return by.split(' ').map((id) => named(document.getElementById(id))).join(' ');
    return control.getAttribute('aria-label') ?? ([...(control.labels ?? [])].map(named).join(' ') || words(control, isSilent) || control.title);
  };
  const seenOn = (control) => {
    // The words of a slide stand in its track, those of a field in its label or in the field.
    if (control.matches('[role=slider]')) return control.parentElement.innerText;
    if (control.matches('textarea, input')) return [...control.labels].map((label) => words(label, (node) => node.matches('.hidden'))).join(' ') || control.placeholder;
    return words(control, (node) => node.matches('.hidden, kbd[aria-hidden=true], svg'));
  };
  const controls = [...document.querySelectorAll('button, a[href], textarea, input, summary, [role=slider], [role=tab]')].filter((control) => control.checkVisibility());
  const places = [...document.querySelectorAll('dialog, section, nav, [role=region]')].filter((place) => place.checkVisibility());
  return [
    ...[...controls, ...places].filter((element) => !plain(nameOf(element))).map((element) => `no name: ${element.outerHTML.slice(0, 80)}`),
    ...controls.filter((control) => !plain(nameOf(control)).includes(plain(seenOn(control)))).map((control) => `seen “${plain(seenOn(control))}”, called “${plain(nameOf(control))}”`),
  ];
});
