// A real Chromium for the tests, and what they measure in it.

import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const SHOTS = fileURLToPath(new URL('shots/', import.meta.url));

const how = (more) => ({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--no-first-run', ...more],
});

/** @param {string[]} [more] Further arguments of the browser. */
export const launch = (more = []) => chromium.launch(how(more));

/** A browser with a profile, as people have one; it goes with `close`. */
export async function ownProfile() {
  const profile = mkdtempSync(join(tmpdir(), 'silas-profile-'));
  const context = await chromium.launchPersistentContext(profile, how([]));
  const close = async () => {
    await context.close();
    rmSync(profile, { recursive: true, force: true });
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
  const wide = [...document.querySelectorAll('body *')].filter((e) => !e.closest('.filters, .hidden') && e.getBoundingClientRect().right > innerWidth + 1);
  const { clientHeight, scrollHeight, scrollWidth } = document.documentElement;
  const together = matchMedia('(max-height: 30em) and (max-width: 959px)').matches || !document.querySelector('.frame');
  const whole = together ? Math.max(clientHeight, Math.ceil(document.querySelector('.frame, .pair')?.getBoundingClientRect().height ?? 0)) : innerHeight;
  // The height of a frame that grows is a fraction of a pixel, and a document is as many whole ones as it likes to make of that.
  const below = Math.abs(scrollHeight - whole) <= (together ? 1 : 0) ? [] : [`the document, ${scrollHeight} px in ${whole}`];
  return { by: scrollWidth - innerWidth, elements: [...below, ...wide.map((e) => e.className?.baseVal ?? e.className ?? e.tagName)] };
});

/** Controls that can be tapped and are smaller than 44 × 44, with their size. */
export const smallTargets = (page) => page.evaluate(() => {
  const controls = [...document.querySelectorAll('button, a[href], textarea, summary, [role=slider], input:not([type=checkbox], .hidden), label:has(input)')].filter((e) => e.checkVisibility());
  return controls.flatMap((e) => {
    const { width, height } = e.getBoundingClientRect();
    const grown = getComputedStyle(e, '::after');
    const more = grown.content !== 'none' && grown.position === 'absolute' ? [-parseFloat(grown.left) * 2, -parseFloat(grown.top) * 2] : [0, 0];
    const size = [width + more[0], height + more[1]];
    return Math.min(...size) >= 43.5 ? [] : [`${e.textContent.trim() || e.getAttribute('aria-label')}: ${size.map(Math.round).join(' × ')}`];
  });
});

/** Every visible text whose contrast with what is painted behind it is under 4.5:1. */
export const weakTexts = (page) => page.evaluate(() => {
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
  const weak = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || !element.checkVisibility({ opacityProperty: true }) || element.closest('.hidden, noscript')) continue;
    const [a, b] = [luminance(parse(getComputedStyle(element).color)), luminance(behind(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) weak.push(`${node.data.trim().slice(0, 30)}: ${ratio.toFixed(2)}`);
  }
  return weak;
});

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What axe finds that is serious or critical, as rule and elements. Its script goes round the page's policy, by the debugger. */
export async function serious(page) {
  await page.evaluate(AXE);
  return page.evaluate(async () => {
    const { violations } = await window.axe.run(document, { resultTypes: ['violations'] });
    return violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map(({ html }) => html.slice(0, 120)).join(' | ')}`);
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
  const places = [...document.querySelectorAll('dialog, section, nav')].filter((place) => place.checkVisibility());
  return [
    ...[...controls, ...places].filter((element) => !plain(nameOf(element))).map((element) => `no name: ${element.outerHTML.slice(0, 80)}`),
    ...controls.filter((control) => !plain(nameOf(control)).includes(plain(seenOn(control)))).map((control) => `seen “${plain(seenOn(control))}”, called “${plain(nameOf(control))}”`),
  ];
});
