/** Finds things by the words a person types. Pure. */

export type SearchHit = { kind: string; title: string; detail: string; href: string };

/** Things that contain every word; those whose title begins with the first word come first. */
export function search(things: readonly SearchHit[], typed: string, most = 12): SearchHit[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const [first] = words;
  if (first === undefined) return things.slice(0, most);
  const rank = ({ title }: SearchHit) => {
    const text = title.toLowerCase();
    return text.startsWith(first) ? 0 : text.includes(first) ? 1 : 2;
  };
  return things
    .filter(({ kind, title, detail }) => {
      const text = `${kind} ${title} ${detail}`.toLowerCase();
      return words.every((word) => text.includes(word));
    })
    .sort((a, b) => rank(a) - rank(b))
    .slice(0, most);
}
