/** Reads a source tree as text and says where it breaks the rules of the architecture. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

export type Import = { target: string; kind: "static" | "lazy"; typeOnly: boolean; line: number };
export type SourceFile = { path: string; text: string; imports: Import[] };
export type Violation = { file: string; line: number; problem: string };

export type Rules = {
  /** Folder → what its files may import, as path prefixes below the root. A file always sees its own folder. */
  layers: Readonly<Record<string, readonly string[]>>;
  /** Folder → what its files may import only by `await import()`. */
  lazyLayers: Readonly<Record<string, readonly string[]>>;
  /** Folders of which each may import only those before it. */
  ordered: readonly string[];
  /** Subfolders that must not see each other, but for the listed shared ones. */
  isolated: readonly { folder: string; shared: readonly string[] }[];
  /** Package → where it may be imported. */
  packages: Readonly<Record<string, readonly string[]>>;
  /** What a line may contain only in the listed places. */
  restricted: readonly { what: string; pattern: RegExp; allowed: readonly string[] }[];
  maxLines: number;
};

export function readTree(root: string): SourceFile[] {
  return readdirSync(root, { recursive: true, encoding: "utf8" })
    .filter((path) => /\.tsx?$/.test(path))
    .sort()
    .map((path) => {
      const text = readFileSync(join(root, path), "utf8");
      return { path: path.replaceAll("\\", "/"), text, imports: importsOf(text) };
    });
}

export function checkTree(files: readonly SourceFile[], rules: Rules): Violation[] {
  return [
    ...files.flatMap((file) => checkImports(file, rules)),
    ...files.flatMap((file) => checkLines(file, rules)),
    ...findCycles(files),
  ];
}

/** The packages and files that loading `entry` pulls in at once, without what is imported lazily or only as a type. */
export function staticClosure(files: readonly SourceFile[], entry: string): Set<string> {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const seen = new Set<string>();
  const visit = (path: string): void => {
    if (seen.has(path)) return;
    seen.add(path);
    for (const one of byPath.get(path)?.imports ?? []) {
      if (one.kind === "static" && !one.typeOnly) visit(resolveImport(path, one.target));
    }
  };
  visit(entry);
  return seen;
}

/** Static imports, re-exports and lazy imports. */
function importsOf(text: string): Import[] {
  const found: Import[] = [];
  const statements = /^(import|export)\s+(type\s+)?(?:[\w*{}\s,$]*?\sfrom\s*)?["']([^"']+)["']/gm;
  for (const match of text.matchAll(statements)) {
    const typeOnly = match[2] !== undefined || onlyTypes(match[0]);
    found.push({ target: match[3] ?? "", kind: "static", typeOnly, line: lineAt(text, match.index) });
  }
  for (const match of text.matchAll(/\bimport\(\s*["']([^"']+)["']\s*\)/g)) {
    found.push({ target: match[1] ?? "", kind: "lazy", typeOnly: false, line: lineAt(text, match.index) });
  }
  return found;
}

function onlyTypes(statement: string): boolean {
  const names = /\{([^}]*)\}/
    .exec(statement)?.[1]
    ?.split(",")
    .map((name) => name.trim());
  return names?.filter((name) => name !== "").every((name) => name.startsWith("type ")) ?? false;
}

function checkImports(file: SourceFile, rules: Rules): Violation[] {
  return file.imports.flatMap((one) => {
    const problem = one.target.startsWith(".")
      ? checkOwn(file.path, resolveImport(file.path, one.target), one, rules)
      : checkPackage(file.path, one.target, rules);
    return problem === null ? [] : [{ file: file.path, line: one.line, problem }];
  });
}

function checkOwn(from: string, to: string, one: Import, rules: Rules): string | null {
  const [fromLayer, toLayer] = [layerOf(from), layerOf(to)];
  if (fromLayer !== toLayer) {
    const allowed = [
      ...(rules.layers[fromLayer] ?? []),
      ...(one.kind === "lazy" ? (rules.lazyLayers[fromLayer] ?? []) : []),
    ];
    if (!isBelow(to, allowed)) return `${fromLayer} must not import ${to}${one.kind === "lazy" ? " even lazily" : ""}`;
    return null;
  }
  const fromPlace = rules.ordered.findIndex((folder) => isBelow(from, [folder]));
  const toPlace = rules.ordered.findIndex((folder) => isBelow(to, [folder]));
  if (fromPlace !== -1 && toPlace > fromPlace)
    return `${rules.ordered[fromPlace]} must not import ${to}, which stands below it`;
  for (const { folder, shared } of rules.isolated) {
    const [a, b] = [childOf(folder, from), childOf(folder, to)];
    if (a && b && a !== b && !isBelow(to, shared)) return `${a} must not know ${to}`;
  }
  return null;
}

function checkPackage(from: string, target: string, rules: Rules): string | null {
  if (target.startsWith("node:")) return null;
  const name = target
    .split("/")
    .slice(0, target.startsWith("@") ? 2 : 1)
    .join("/");
  const allowed = rules.packages[name];
  if (!allowed) return `package ${name} is not in the table of packages`;
  return isBelow(from, allowed) ? null : `package ${name} is for ${allowed.join(", ")} only`;
}

function checkLines(file: SourceFile, rules: Rules): Violation[] {
  const lines = file.text.split("\n");
  const found = rules.restricted
    .filter((rule) => !isBelow(file.path, rule.allowed))
    .flatMap((rule) =>
      lines.flatMap((line, index) =>
        rule.pattern.test(line)
          ? [{ file: file.path, line: index + 1, problem: `${rule.what} is not for this place` }]
          : [],
      ),
    );
  if (lines.length > rules.maxLines) {
    found.push({ file: file.path, line: lines.length, problem: `longer than ${rules.maxLines} lines` });
  }
  return found;
}

function findCycles(files: readonly SourceFile[]): Violation[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const done = new Set<string>();
  const found: Violation[] = [];
  const visit = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path);
    if (start !== -1) {
      found.push({ file: path, line: 1, problem: `import cycle: ${[...trail.slice(start), path].join(" → ")}` });
      return;
    }
    if (done.has(path)) return;
    for (const one of byPath.get(path)?.imports ?? []) {
      // A type is gone at run time, and a lazy import runs after both files exist.
      if (one.target.startsWith(".") && one.kind === "static" && !one.typeOnly) {
        visit(resolveImport(path, one.target), [...trail, path]);
      }
    }
    done.add(path);
  };
  for (const file of files) visit(file.path, []);
  return found;
}

function resolveImport(from: string, target: string): string {
  if (!target.startsWith(".")) return target;
  return relative("/", resolve("/", dirname(from), target)).replaceAll("\\", "/");
}

function layerOf(path: string): string {
  return path.split("/")[0] ?? "";
}

function childOf(folder: string, path: string): string | null {
  if (!path.startsWith(`${folder}/`)) return null;
  const parts = path.slice(folder.length + 1).split("/");
  return parts.length > 1 ? `${folder}/${parts[0]}` : null;
}

function isBelow(path: string, places: readonly string[]): boolean {
  return places.some((place) => path === place || path.startsWith(`${place}/`));
}

function lineAt(text: string, index: number): number {
  return text.slice(0, index).split("\n").length;
}
