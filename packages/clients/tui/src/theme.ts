/** Colours by role, for dark and light terminals and every colour depth. A glyph always says the same as a colour. */

export type Depth = "none" | "16" | "256" | "true";
export type Scheme = "dark" | "light";

/** What a text means. Views name roles, never colours. */
export type Role = "run" | "ok" | "wait" | "error" | "dim" | "bold" | "title" | "selected" | "code" | "underline";

export type Theme = {
  paint(role: Role, text: string): string;
  readonly scheme: Scheme;
  readonly ascii: boolean;
};

type Colour = { rgb: readonly [number, number, number]; basic: number };
type ColourRole = "run" | "ok" | "wait" | "error" | "code";

/** Chosen for contrast, and for distance as seen with protanopia, deuteranopia and tritanopia. */
const palette: Readonly<Record<Scheme, Readonly<Record<ColourRole, Colour>>>> = {
  dark: {
    run: { rgb: [0x4a, 0xa3, 0xff], basic: 94 },
    ok: { rgb: [0x7f, 0xe0, 0xc0], basic: 36 },
    wait: { rgb: [0xf2, 0xc1, 0x4e], basic: 33 },
    error: { rgb: [0xf0, 0x60, 0x4d], basic: 31 },
    code: { rgb: [0x7f, 0xe0, 0xc0], basic: 36 },
  },
  light: {
    run: { rgb: [0x0a, 0x4f, 0xb0], basic: 34 },
    ok: { rgb: [0x00, 0x7f, 0x6e], basic: 36 },
    wait: { rgb: [0x9a, 0x67, 0x00], basic: 33 },
    error: { rgb: [0x82, 0x00, 0x1c], basic: 31 },
    code: { rgb: [0x00, 0x7f, 0x6e], basic: 36 },
  },
};

const csi = "\u001b[";
const attributes: Readonly<Record<Exclude<Role, ColourRole>, readonly [number, number]>> = {
  dim: [2, 22],
  bold: [1, 22],
  title: [1, 22],
  selected: [7, 27],
  underline: [4, 24],
};

export function createTheme(options: { depth: Depth; scheme: Scheme; ascii: boolean }): Theme {
  const { depth, scheme, ascii } = options;
  const colours = palette[scheme];
  const codes = new Map<Role, readonly [string, string]>();
  for (const [role, [on, off]] of Object.entries(attributes))
    codes.set(role as Role, [`${csi}${on}m`, `${csi}${off}m`]);
  for (const role of Object.keys(colours) as ColourRole[]) {
    if (depth === "none") codes.set(role, ["", ""]);
    else codes.set(role, [`${csi}${foreground(colours[role], depth)}m`, `${csi}39m`]);
  }
  return {
    scheme,
    ascii,
    paint(role, text) {
      const [on, off] = codes.get(role) ?? ["", ""];
      return text === "" || on === "" ? text : `${on}${text}${off}`;
    },
  };
}

function foreground({ rgb: [red, green, blue], basic }: Colour, depth: Exclude<Depth, "none">): string {
  if (depth === "true") return `38;2;${red};${green};${blue}`;
  if (depth === "16") return String(basic);
  const step = (value: number) => Math.round((value / 255) * 5);
  return `38;5;${16 + 36 * step(red) + 6 * step(green) + step(blue)}`;
}

type Environment = Readonly<Record<string, string | undefined>>;

export function depthOf(env: Environment): Depth {
  if ((env.NO_COLOR ?? "") !== "") return "none";
  if (/^(truecolor|24bit)$/i.test(env.COLORTERM ?? "")) return "true";
  return /256/.test(env.TERM ?? "") ? "256" : "16";
}

/** Without an answer of the terminal: the background that `COLORFGBG` names, else dark. */
export function schemeOf(env: Environment): Scheme {
  const background = Number(/;(\d+)$/.exec(env.COLORFGBG ?? "")?.[1] ?? Number.NaN);
  return background === 7 || background === 15 ? "light" : "dark";
}

const asciiOf: Readonly<Record<string, string>> = {
  "▶": ">",
  "✓": "+",
  "✗": "x",
  "⊘": "/",
  "·": ".",
  "‖": "=",
  "→": ">",
  "←": "<",
  "↑": "^",
  "↓": "v",
  "▸": ">",
  "▾": "v",
  "…": "~",
  "⋯": "~",
  "─": "-",
  "│": "|",
  "├": "|",
  "┤": "|",
  "┼": "+",
  "└": "`",
  "┌": "+",
  "┐": "+",
  "┘": "+",
  "█": "#",
  "▐": "#",
  "▌": "#",
  "●": "*",
  "○": "o",
  "−": "-",
  "•": "*",
  "◀": "<",
};
const beyondAscii = /\P{ASCII}/gu;

/** For a terminal without Unicode: known glyphs become ASCII, every other character a question mark. */
export function toAscii(row: string): string {
  return row.replace(beyondAscii, (character) => asciiOf[character] ?? "?");
}
