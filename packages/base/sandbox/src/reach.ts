/** What several settings together reach: those of a project, of an agent, and of the sessions that started it. */
import { isAbsolute, join, resolve } from "node:path";
import type { SandboxAllow, SandboxLevel, SandboxSettings } from "@aegis/contract/sandbox.ts";
import { isInside } from "@aegis/lib/files.ts";
import { type HostRule, hostRuleText, matchingRule, parseHostRule } from "./host-rules.ts";

/** Paths are absolute. With `off` the lists mean nothing: the program reaches everything. */
export type Reach = {
  level: SandboxLevel;
  write: readonly string[];
  read: readonly string[];
  hosts: readonly HostRule[];
};

export type ProjectReach = { sandbox: SandboxLevel; allow: SandboxAllow };

export type PathBase = { root: string; home: string };

const levels: readonly SandboxLevel[] = ["off", "workspace", "strict"];

export function isWeaker(level: SandboxLevel, other: SandboxLevel): boolean {
  return levels.indexOf(level) < levels.indexOf(other);
}

/** What all of the settings reach. Without one it is what the project's programs reach. */
export function reachOf(settings: readonly SandboxSettings[], project: ProjectReach, base: PathBase): Reach {
  const own = reachOfOne(project.sandbox, [project.allow], base);
  const all = settings.map(({ sandbox, allow }) =>
    reachOfOne(sandbox ?? project.sandbox, allow === null ? [project.allow] : [project.allow, allow], base),
  );
  const [first = own, ...rest] = all;
  return rest.reduce(common, first);
}

function reachOfOne(level: SandboxLevel, allows: readonly SandboxAllow[], base: PathBase): Reach {
  const paths = (kind: "write" | "read") => allows.flatMap((allow) => allow[kind].map((path) => placeOf(path, base)));
  const hosts = allows.flatMap((allow) => allow.hosts).flatMap((text) => ruleOf(text));
  return { level, write: [...new Set(paths("write"))], read: [...new Set(paths("read"))], hosts };
}

function ruleOf(text: string): HostRule[] {
  const rule = parseHostRule(text);
  return typeof rule === "string" ? [] : [rule];
}

function common(a: Reach, b: Reach): Reach {
  if (a.level === "off") return b;
  if (b.level === "off") return a;
  return {
    level: isWeaker(a.level, b.level) ? b.level : a.level,
    write: insideBoth(a.write, b.write),
    read: insideBoth(a.read, b.read),
    hosts: [...a.hosts.filter((rule) => covers(b.hosts, rule)), ...b.hosts.filter((rule) => covers(a.hosts, rule))],
  };
}

function insideBoth(a: readonly string[], b: readonly string[]): string[] {
  const within = (paths: readonly string[]) => (path: string) => paths.some((one) => isInside(one, path));
  return [...new Set([...a.filter(within(b)), ...b.filter(within(a))])];
}

/** Whether the rules allow everything that `rule` allows. */
function covers(rules: readonly HostRule[], rule: HostRule): boolean {
  if (rules.some((one) => hostRuleText(one) === hostRuleText(rule))) return true;
  const ports = rule.port === null ? [80, 443] : [rule.port];
  // A name below the domain stands for all of them: `*.b.example` is below `*.example`.
  const host = rule.below ? `any.${rule.host}` : rule.host;
  const candidates = rule.below ? rules.filter((one) => one.below) : rules;
  return ports.every((port) => matchingRule(candidates, host, port) !== null);
}

/** Relative paths are those of the project. */
export function placeOf(path: string, { root, home }: PathBase): string {
  if (path === "~" || path.startsWith("~/")) return resolve(join(home, path.slice(1)));
  return isAbsolute(path) ? resolve(path) : resolve(root, path);
}

/** A path that must not be allowed, with the reason; null if it may be. */
export function pathProblem(path: string, kind: "write" | "read", base: PathBase): string | null {
  const place = placeOf(path, base);
  if (path.includes("\0") || /^~[^/]/.test(path)) return "expected a path: absolute, relative to the project, or ~/…";
  const own = join(base.home, ".aegis");
  if (isInside(own, place)) return "Aegis's own folder cannot be allowed";
  if (isInside(join(base.root, ".aegis"), place)) return "the project's .aegis folder cannot be allowed";
  if (kind === "read") return place === "/" ? "the whole machine cannot be allowed; set sandbox: off instead" : null;
  if (isInside(place, base.home))
    return "the home folder and the folders above it cannot be allowed; name a folder in it";
  if (isInside(place, base.root) && place !== base.root)
    return "a folder above the project cannot be allowed; name a folder beside it";
  return null;
}
