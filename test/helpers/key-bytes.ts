/** What terminals send for a key, by the names that the keymap uses. */

const plainBytes: Readonly<Record<string, string>> = {
  enter: "\r",
  escape: "\u001b",
  tab: "\t",
  "shift+tab": "\u001b[Z",
  up: "\u001b[A",
  down: "\u001b[B",
  home: "\u001b[H",
  end: "\u001b[F",
  pageUp: "\u001b[5~",
  pageDown: "\u001b[6~",
  f1: "\u001bOP",
  f4: "\u001bOS",
  f5: "\u001b[15~",
  f6: "\u001b[17~",
  "ctrl+j": "\n",
};
const arrows: Readonly<Record<string, string>> = { up: "A", down: "B", home: "H", end: "F" };
const modifiers: Readonly<Record<string, number>> = { shift: 2, alt: 3, ctrl: 5 };
const codes: Readonly<Record<string, number>> = { enter: 13, escape: 27, tab: 9 };

/** The bytes of a plain terminal and of one with the kitty keyboard protocol; the same once if there is no difference. */
export function keyBytes(key: string): string[] {
  const [name, modifier] = key.split("+").toReversed();
  if (name === undefined || key.length === 1) return [key];
  const value = modifier === undefined ? undefined : modifiers[modifier];
  const arrow = arrows[name];
  if (value !== undefined && arrow !== undefined) return [`\u001b[1;${value}${arrow}`];
  const code = codes[name] ?? (name.length === 1 ? name.codePointAt(0) : undefined);
  const kitty = code === undefined ? [] : [value === undefined ? `\u001b[${code}u` : `\u001b[${code};${value}u`];
  const plain = plainBytes[key] ?? withModifier(name, modifier);
  if (plain === undefined && kitty.length === 0) throw new RangeError(`no bytes are known for ${key}`);
  return [...(plain === undefined ? [] : [plain]), ...kitty];
}

function withModifier(name: string, modifier: string | undefined): string | undefined {
  if (name.length !== 1) return undefined;
  if (modifier === "alt") return `\u001b${name}`;
  // A plain terminal has no bytes for Ctrl and a digit.
  return modifier === "ctrl" && /[a-z]/.test(name) ? String.fromCharCode(name.charCodeAt(0) & 31) : undefined;
}
