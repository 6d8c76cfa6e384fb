// Strings in the page's language: a module that the browser keeps, whose address the page names.
import { breath } from './slices.js';

const { default: table } = await import(document.documentElement.dataset.texts);

export const language = document.documentElement.lang;
export const locale = { en: 'en-GB', da: 'da-DK' }[language] ?? language;

const plural = new Intl.PluralRules(locale);
const numbers = new Map(); // Formats by digits: one costs more than what it writes.

/** A number as people here write it, with so many digits after the point at most. */
export function number(value, most = 1) {
  if (!numbers.has(most)) numbers.set(most, new Intl.NumberFormat(locale, { maximumFractionDigits: most }));
  return numbers.get(most).format(value);
}

number(0); // With the first the browser loads how people here write numbers: a task of its own.
await breath();

/** A name within a sentence: German writes nouns with a capital there too. */
export const within = (text) => (language === 'de' ? text : text.toLocaleLowerCase(locale));

/** Whether there is a string for `key`. */
export const knows = (key) => key in table;

/** The string for `key`; with `count` in `values` its singular or plural form. */
export function t(key, values = {}) {
  const form = 'count' in values ? `${key}.${plural.select(values.count)}` : key;
  const text = table[form] ?? table[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (_, name) =>
    typeof values[name] === 'number' ? number(values[name]) : (values[name] ?? ''));
}
