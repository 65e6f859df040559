/** Reads the public API: every name of the four entries with its declaration and its documentation. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Node } from "typescript/unstable/ast";
import {
  API,
  type Checker,
  type Project,
  SignatureKind,
  SymbolFlags,
  type Symbol as TsSymbol,
} from "typescript/unstable/sync";

export type Kind = "function" | "class" | "constant" | "type";

export type Entry = {
  name: string;
  kind: Kind;
  /** The declaration as TypeScript, without bodies. */
  code: string;
  description: string;
  parameters: readonly { name: string; text: string }[];
  examples: readonly string[];
};

export type EntryPoint = { specifier: string; entries: readonly Entry[] };

/** Each entry of the package with the file that defines it. */
export const entryFiles = {
  aegis: "packages/core/plugin-api/src/index.ts",
  "aegis/client": "packages/clients/client/src/index.ts",
  "aegis/testing": "packages/core/plugin-api/src/testing/index.ts",
  "aegis/schema": "packages/base/contract/src/schema.ts",
} as const;

export function readEntryPoints(root: string): EntryPoint[] {
  const api = new API({ cwd: root });
  try {
    const snapshot = api.updateSnapshot({ openProjects: [join(root, "tsconfig.types.json")] });
    const [project] = snapshot.getProjects();
    if (project === undefined) throw new Error("tsconfig.types.json describes no project");
    return Object.entries(entryFiles).map(([specifier, file]) => ({
      specifier,
      entries: entriesOf(project, join(root, file)),
    }));
  } finally {
    api.close();
  }
}

function entriesOf(project: Project, path: string): Entry[] {
  const file = project.program.getSourceFile(path);
  const module = file === undefined ? undefined : project.checker.getSymbolAtLocation(file);
  if (module === undefined) throw new Error(`${path} is no module`);
  const { checker } = project;
  const entries = checker.getExportsOfModule(module).flatMap((exported) => {
    const symbol = resolved(checker, exported);
    const functions = functionsOf(checker, symbol);
    if (functions === null) return [entryOf(checker, symbol, exported.name)];
    return functions.map((one) => entryOf(checker, one.symbol, `${exported.name}.${one.name}`));
  });
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
}

function resolved(checker: Checker, symbol: TsSymbol): TsSymbol {
  return symbol.flags & SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
}

/** The functions that an object such as `wait` gathers, or null for anything else. */
function functionsOf(checker: Checker, symbol: TsSymbol): { name: string; symbol: TsSymbol }[] | null {
  if (!(symbol.flags & SymbolFlags.Variable) || declarationsOf(symbol).path.includes("node_modules")) return null;
  const type = checker.getTypeOfSymbol(symbol);
  if (type === undefined || checker.getSignaturesOfType(type, SignatureKind.Call).length > 0) return null;
  const found = checker.getPropertiesOfType(type).map((property) => {
    const node = property.declarations[0]?.resolve() as { initializer?: Node } | undefined;
    const target = node?.initializer === undefined ? undefined : checker.getSymbolAtLocation(node.initializer);
    return { name: property.name, symbol: target === undefined ? property : resolved(checker, target) };
  });
  const isGathered = found.length > 0 && found.every((one) => one.symbol.flags & SymbolFlags.Function);
  return isGathered ? found : null;
}

function entryOf(checker: Checker, symbol: TsSymbol, name: string): Entry {
  const tags = checker.getJsDocTagsOfSymbol(symbol);
  const texts = (tag: string) => tags.filter((found) => found.name === tag).map((found) => textOf(found.text));
  return {
    name,
    kind: kindOf(symbol),
    code: declarationOf(symbol, name),
    description: isFileHeader(symbol) ? "" : checker.getDocumentationCommentOfSymbol(symbol).trim(),
    parameters: texts("param").map((text) => {
      const [, parameter = "", rest = ""] = /^(\S+)\s*-?\s*([\s\S]*)$/.exec(text) ?? [];
      return { name: parameter, text: rest };
    }),
    examples: texts("example").map((text) => text.trim()),
  };
}

function textOf(text: unknown): string {
  if (typeof text === "string") return text;
  return Array.isArray(text) ? text.map((part: { text: string }) => part.text).join("") : "";
}

function kindOf({ flags }: TsSymbol): Kind {
  if (flags & SymbolFlags.Function) return "function";
  if (flags & SymbolFlags.Class) return "class";
  return flags & SymbolFlags.Value ? "constant" : "type";
}

type Declared = { pos: number; end: number; text: string; body: { pos: number } | undefined; members: Declared[] };

function declarationsOf(symbol: TsSymbol): { path: string; nodes: Declared[]; text: string } {
  const nodes = symbol.declarations.flatMap((handle) => handle.resolve() ?? []);
  const path = nodes[0]?.getSourceFile().fileName ?? "";
  return { path, nodes: nodes as unknown as Declared[], text: path === "" ? "" : readFileSync(path, "utf8") };
}

/** The first comment of a file belongs to the file, although the compiler hands it to the first declaration. */
function isFileHeader(symbol: TsSymbol): boolean {
  const { nodes, text } = declarationsOf(symbol);
  const [first] = nodes;
  return first !== undefined && first.pos === 0 && /^\/\*\*[\s\S]*?\*\/\n\n(?!\/\*\*)/.test(text);
}

function declarationOf(symbol: TsSymbol, name: string): string {
  const { path, nodes, text } = declarationsOf(symbol);
  if (path.includes("node_modules")) return `export { ${name} } from ${JSON.stringify(packageOf(path))};`;
  const bare = (from: number, to: number) => text.slice(from, to).replace(/^(?:\s+|\/\*[\s\S]*?\*\/|\/\/.*\n)*/, "");
  // The implementation of an overloaded function is no signature that a caller may use.
  const visible = nodes.length > 1 ? nodes.filter((node) => node.body === undefined) : nodes;
  const parts = visible.map((node) => {
    if (kindOf(symbol) === "class") return classOf(node, bare);
    const code = bare(node.pos, node.body?.pos ?? node.end).trim();
    return kindOf(symbol) === "constant" && !code.startsWith("export") ? `export const ${code};` : code;
  });
  return parts.map((code) => renamed(code, symbol.name, name)).join("\n");
}

/** As a caller sees it: under the name it is exported with, without words that only matter to the implementation. */
function renamed(code: string, own: string, name: string): string {
  const exported = name.split(".").at(-1) ?? name;
  return code
    .replace(/^export (?:async )?/, "")
    .replace(new RegExp(`^(function\\*?|class|const|type|interface) ${own}\\b`), `$1 ${exported}`)
    .replace(/^function\*/, "function");
}

function classOf(node: Declared, bare: (from: number, to: number) => string): string {
  const head = bare(node.pos, node.members[0]?.pos ?? node.end).replace(/\{[\s\S]*$/, "{");
  const members = [...node.members].map((member) => {
    const code = bare(member.pos, member.body?.pos ?? member.end).trim();
    return `  ${code.endsWith(";") ? code : `${code};`}`;
  });
  return [head, ...members.filter((member) => !/^ {2}(?:static override )?\[|#/.test(member)), "}"].join("\n");
}

function packageOf(path: string): string {
  return /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? path;
}
