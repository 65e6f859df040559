/** Whether a plugin accepts this version of Aegis. */
import semver from "semver";

/** The Python program `apiad/aegis` reached these versions; this program counts its own. */
const upstream = { from: "0.10.0", below: "1.0.0" };

/** A range of npm. Commas and `==`, as Python writes them, are accepted. Null if it is none. */
export function rangeOf(text: string): string | null {
  const range = text
    .replace(/\s*,\s*/g, " ")
    .replaceAll("===", "=")
    .replaceAll("==", "=");
  return semver.validRange(range) === null ? null : range;
}

/** What is wrong with this version for the plugin, or null. A pre-release counts as its version. */
export function versionProblem(range: string | null, version: string): { text: string; hint: string | null } | null {
  if (range === null || semver.satisfies(version, range, { includePrerelease: true })) return null;
  const text = `Aegis ${range}; this is ${version}`;
  const least = semver.minVersion(range);
  const isUpstream =
    least !== null && semver.gt(least, version) && semver.gte(least, upstream.from) && semver.lt(least, upstream.below);
  if (!isUpstream) return { text, hint: null };
  const about = `${range} counts the versions of the Python program apiad/aegis, which this program replaces with versions of its own`;
  return { text: `${text}. ${about}`, hint: `a plugin that runs here says requires_aegis = ">=${minorOf(version)}"` };
}

function minorOf(version: string): string {
  const parsed = semver.parse(version);
  return parsed === null ? version : `${parsed.major}.${parsed.minor}`;
}
