/** Turns the highlighter's output, `<span class="hljs-…">` and escaped text, into pieces with five kinds. Pure. */

export type Piece = readonly [kind: string, text: string];

const kinds: Readonly<Record<string, string>> = {
  keyword: "key",
  literal: "key",
  built_in: "key",
  type: "key",
  "selector-tag": "key",
  tag: "key",
  string: "string",
  regexp: "string",
  addition: "string",
  "meta-string": "string",
  char: "string",
  number: "number",
  symbol: "number",
  bullet: "number",
  attr: "name",
  attribute: "name",
  variable: "name",
  comment: "comment",
  quote: "comment",
  meta: "comment",
  deletion: "comment",
  title: "name",
  function: "name",
  section: "name",
  name: "name",
  property: "name",
};

const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', "#x27": "'", "#39": "'" };

export function piecesOf(html: string): Piece[] {
  const pieces: Piece[] = [];
  const open: string[] = [];
  for (const [part] of html.matchAll(/<span class="[^"]*">|<\/span>|[^<]+|</g)) {
    if (part === "</span>") open.pop();
    else if (part.startsWith("<span ")) open.push(kindOf(part) ?? open.at(-1) ?? "");
    else pieces.push([open.at(-1) ?? "", part.replace(/&(#?\w+);/g, (whole, name: string) => entities[name] ?? whole)]);
  }
  return pieces;
}

function kindOf(tag: string): string | null {
  const name = /hljs-([\w-]+)/.exec(tag)?.[1];
  return name === undefined ? null : (kinds[name] ?? null);
}
