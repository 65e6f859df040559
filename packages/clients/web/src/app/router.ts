/** The place in the app, kept in the fragment of the address: the daemon serves one page, and sees no place. */
import { computed, signal } from "@preact/signals";

const fragment = signal(location.hash);

addEventListener("hashchange", () => {
  fragment.value = location.hash;
});

/** The words of the path: `#/s/ses_1` is `["s", "ses_1"]`. */
export const path = computed(() => {
  const [words = ""] = fragment.value.replace(/^#\/?/, "").split("?");
  return words.split("/").filter(Boolean).map(decoded);
});

export const query = computed(() => new URLSearchParams(fragment.value.split("?")[1] ?? ""));

export function link(...words: readonly string[]): string {
  return `#/${words.map(encodeURIComponent).join("/")}`;
}

export function go(...words: readonly string[]): void {
  location.hash = link(...words);
}

function decoded(word: string): string {
  try {
    return decodeURIComponent(word);
  } catch {
    return word;
  }
}
