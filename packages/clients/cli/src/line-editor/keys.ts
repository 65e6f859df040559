/** Parses terminal input into keys. A read may end in the middle of a sequence. */
import { StringDecoder } from "node:string_decoder";

export type KeyName =
  | "enter"
  | "newline"
  | "tab"
  | "backspace"
  | "delete"
  | "left"
  | "right"
  | "up"
  | "down"
  | "home"
  | "end"
  | "word-left"
  | "word-right"
  | "delete-word-left"
  | "delete-word-right"
  | "delete-to-start"
  | "delete-to-end"
  | "yank"
  | "interrupt"
  | "end-of-input"
  | "suspend"
  | "redraw";

export type Key = { kind: "key"; name: KeyName } | { kind: "text"; text: string } | { kind: "paste"; text: string };

const esc = "\u001b";
const pasteStart = "\u001b[200~";
const pasteEnd = "\u001b[201~";

/** Ctrl plus a letter, by the letter. */
const controlKeys: Readonly<Record<string, KeyName>> = {
  a: "home",
  b: "left",
  c: "interrupt",
  d: "end-of-input",
  e: "end",
  f: "right",
  h: "backspace",
  i: "tab",
  j: "newline",
  k: "delete-to-end",
  l: "redraw",
  m: "enter",
  n: "down",
  p: "up",
  u: "delete-to-start",
  w: "delete-word-left",
  y: "yank",
  z: "suspend",
};

const altKeys: Readonly<Record<string, KeyName>> = {
  "\r": "newline",
  "\n": "newline",
  "\u007f": "delete-word-left",
  "\b": "delete-word-left",
  b: "word-left",
  d: "delete-word-right",
  f: "word-right",
};

/** By the last character of a CSI or SS3 sequence. */
const finalKeys: Readonly<Record<string, KeyName>> = {
  A: "up",
  B: "down",
  C: "right",
  D: "left",
  F: "end",
  H: "home",
  M: "enter",
};

const numberedKeys: Readonly<Record<number, KeyName>> = { 1: "home", 3: "delete", 4: "end", 7: "home", 8: "end" };

/** By code point, for terminals that report keys as `CSI code;modifiers u` or `CSI 27;modifiers;code ~`. */
const codedKeys: Readonly<Record<number, KeyName>> = { 9: "tab", 13: "enter", 127: "backspace" };

const withWordModifier: Readonly<Partial<Record<KeyName, KeyName>>> = {
  left: "word-left",
  right: "word-right",
  backspace: "delete-word-left",
  delete: "delete-word-right",
};

export class KeyReader {
  readonly #decoder = new StringDecoder("utf8");
  #rest = "";
  /** The parts of an unfinished paste; null outside a paste. */
  #paste: string[] | null = null;

  /** True while the next bytes may complete the previous ones. `flush` decides if no more input comes. */
  get waiting(): boolean {
    return this.#rest !== "" || this.#paste !== null;
  }

  /** True inside a paste. */
  get pasting(): boolean {
    return this.#paste !== null;
  }

  feed(bytes: Uint8Array): Key[] {
    this.#rest += this.#decoder.write(bytes);
    return this.#take(false);
  }

  /** No more input came: ends a paste whose end marker was lost, and takes a partial sequence as it is. */
  flush(): Key[] {
    if (this.#paste !== null) {
      const text = this.#paste.join("") + this.#rest;
      this.#paste = null;
      this.#rest = "";
      return [{ kind: "paste", text }];
    }
    return this.#take(true);
  }

  #take(isEnd: boolean): Key[] {
    const keys: Key[] = [];
    for (;;) {
      if (this.#paste !== null) {
        if (!this.#takePaste(this.#paste, keys)) return keys;
        continue;
      }
      const input = this.#rest;
      if (input === "") return keys;
      const length = unitLength(input);
      if (length === null && !isEnd) return keys;
      const unit = input.slice(0, length ?? input.length);
      this.#rest = input.slice(unit.length);
      if (unit === pasteStart) this.#paste = [];
      else {
        const key = keyOf(unit);
        if (key !== null) keys.push(key);
      }
    }
  }

  /** Returns false if the end of the paste has not arrived. */
  #takePaste(parts: string[], keys: Key[]): boolean {
    const end = this.#rest.indexOf(pasteEnd);
    if (end === -1) {
      const kept = cutMarkerLength(this.#rest);
      parts.push(this.#rest.slice(0, this.#rest.length - kept));
      this.#rest = this.#rest.slice(this.#rest.length - kept);
      return false;
    }
    parts.push(this.#rest.slice(0, end));
    this.#rest = this.#rest.slice(end + pasteEnd.length);
    this.#paste = null;
    keys.push({ kind: "paste", text: parts.join("") });
    return true;
  }
}

/** How many characters at the end of the text may be the start of the marker that ends a paste. */
function cutMarkerLength(text: string): number {
  for (let length = Math.min(pasteEnd.length - 1, text.length); length > 0; length--)
    if (text.endsWith(pasteEnd.slice(0, length))) return length;
  return 0;
}

/** The length of the first key, or of the run of plain characters. Null if the key may be incomplete. */
function unitLength(input: string): number | null {
  if (!input.startsWith(esc)) return isControl(input.charCodeAt(0)) ? 1 : plainLength(input);
  const second = input[1];
  if (second === undefined) return null;
  if (second === "[") return csiLength(input);
  if (second === "O") return input.length < 3 ? null : 3;
  // Strings that a terminal sends in reply to a query. They end with BEL or with ESC and a backslash.
  if ("]P_^X".includes(second)) return stringLength(input);
  if (second === esc) {
    // Some terminals encode Alt as an escape before the key's sequence.
    const inner = unitLength(input.slice(1));
    return inner === null ? null : inner + 1;
  }
  return (input.codePointAt(1) ?? 0) > 0xffff ? 3 : 2;
}

function csiLength(input: string): number | null {
  for (let index = 2; index < input.length; index++) {
    const code = input.charCodeAt(index);
    if (code >= 0x40 && code <= 0x7e) {
      // The Linux console sends `CSI [ A` for F1, with one more character.
      if (index === 2 && input[index] === "[") return input.length < 4 ? null : 4;
      return index + 1;
    }
    // Not part of any sequence: drop what came before, and parse again from here.
    if (code < 0x20 || code > 0x7e) return index;
  }
  return null;
}

function stringLength(input: string): number | null {
  for (let index = 2; index < input.length; index++) {
    if (input[index] === "\u0007") return index + 1;
    if (input[index] === esc) {
      if (index + 1 === input.length) return null;
      return input[index + 1] === "\\" ? index + 2 : index;
    }
  }
  return null;
}

function plainLength(input: string): number {
  let index = 1;
  while (index < input.length && !isControl(input.charCodeAt(index))) index++;
  return index;
}

function isControl(code: number): boolean {
  return code < 0x20 || (code >= 0x7f && code < 0xa0);
}

function keyOf(unit: string): Key | null {
  if (!unit.startsWith(esc)) {
    if (!isControl(unit.charCodeAt(0))) return { kind: "text", text: unit };
    return named(unit === "\u007f" ? "backspace" : controlKeys[String.fromCharCode(unit.charCodeAt(0) + 0x60)]);
  }
  if (unit.startsWith(`${esc}${esc}`)) {
    const inner = keyOf(unit.slice(1));
    return inner?.kind === "key" ? named(withWordModifier[inner.name] ?? inner.name) : null;
  }
  if (unit.startsWith(`${esc}[`)) return csiKey(unit.slice(2));
  if (unit.startsWith(`${esc}O`)) return named(finalKeys[unit.slice(2)]);
  return named(altKeys[unit.slice(1)]);
}

function csiKey(body: string): Key | null {
  // Replies from the terminal, and unused keys of a Linux virtual terminal.
  if (/^[?<=>[]/.test(body)) return null;
  const final = body.at(-1) ?? "";
  const [first = 0, second = 1, third = 0] = body
    .slice(0, -1)
    .split(";")
    .map((part) => Number.parseInt(part, 10) || 0);
  if (final === "u") return codedKey(first, second);
  if (final === "~" && first === 27) return codedKey(third, second);
  const name = final === "~" ? numberedKeys[first] : finalKeys[final];
  if (name === undefined) return null;
  return named(isWordModifier(second) ? (withWordModifier[name] ?? name) : name);
}

function codedKey(code: number, modifiers: number): Key | null {
  const bits = Math.max(0, modifiers - 1);
  const isAlt = (bits & 2) !== 0;
  const isControlHeld = (bits & 4) !== 0;
  const name = codedKeys[code];
  if (name === "enter") return named((bits & 7) === 0 ? "enter" : "newline");
  if (name !== undefined) return named(isWordModifier(modifiers) ? (withWordModifier[name] ?? name) : name);
  if (code < 0x20 || code > 0x10ffff) return null;
  const character = String.fromCodePoint(code);
  if (isControlHeld) return named(controlKeys[character.toLowerCase()]);
  if (isAlt) return named(altKeys[character.toLowerCase()]);
  return isControl(code) ? null : { kind: "text", text: character };
}

/** Alt or Ctrl turns a move by one character into a move by one word. */
function isWordModifier(modifiers: number): boolean {
  return modifiers > 1 && ((modifiers - 1) & 6) !== 0;
}

function named(name: KeyName | undefined): Key | null {
  return name === undefined ? null : { kind: "key", name };
}
