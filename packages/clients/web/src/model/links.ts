/** Which links of hostile text may be followed. Everything else is shown as text. */

// biome-ignore lint/suspicious/noControlCharactersInRegex: browsers ignore these characters in addresses
const removed = /[\u0000-\u0020\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** The absolute address, or null for scripts, data, files, relative paths, and addresses with credentials. */
export function safeHref(raw: string): string | null {
  const text = raw.replace(removed, "");
  if (!/^(?:https?|mailto):/i.test(text)) return null;
  try {
    const url = new URL(text);
    if (url.username !== "" || url.password !== "") return null;
    return ["https:", "http:", "mailto:"].includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

/** The host to show after a link whose text looks like another address; null if the text does not mislead. */
export function misleadingHost(text: string, href: string): string | null {
  const looksLikeAddress = /^\s*(?:https?:\/\/|www\.)|^\s*[\w-]+(?:\.[\w-]+)+(?:\/|\s*$)/i.test(text);
  if (!looksLikeAddress) return null;
  const { host } = new URL(href);
  return text.toLowerCase().includes(host.toLowerCase()) ? null : host;
}
