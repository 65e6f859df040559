/** Collections of plugins that can be searched: folders and repositories, with an index or just a folder per plugin. */
import { readdir, readFile } from "node:fs/promises";
import { isAbsolute, join, resolve } from "node:path";
import { z } from "zod";
import { AegisError, isAegisError } from "../../../contract/errors.ts";
import { pluginNameMaxLength, pluginNamePattern } from "../../../contract/plugin.ts";
import { containedPath, isErrno } from "../../../lib/files.ts";
import { errorText } from "../../../lib/log.ts";
import { didYouMean } from "../../../lib/nearest.ts";
import { readManifest } from "../manifest.ts";
import { bundledPrefix, hasManifest, openSource, parseSource, type Source, type SourceDeps } from "./sources.ts";

export type Offer = {
  name: string;
  version: string | null;
  description: string;
  /** The registry as it is configured; `bundled` for what comes with Aegis. */
  registry: string;
  /** As `--from` takes it. */
  source: string;
};

export type Search = {
  offers: Offer[] /** Registries that could not be read, each with the reason. */;
  problems: string[];
};

export const bundledRegistry = "bundled";
const indexName = "index.json";
const usualFolder = "plugins";

const indexSchema = z.object({
  plugins: z.array(
    z.object({
      name: z.string().max(pluginNameMaxLength).regex(pluginNamePattern),
      version: z.string().nullable().default(null),
      description: z.string().default(""),
      /** A folder of the registry; its name when neither this nor `source` is there. */
      path: z.string().optional(),
      /** A plugin that lies elsewhere. */
      source: z.string().optional(),
    }),
  ),
});

export type RegistryOptions = SourceDeps & {
  root: string;
  /** `plugin_registries` of the project. */
  registries: readonly string[];
  /** A folder to fetch repositories into. */
  scratch: string;
};

/** What every registry offers. One that cannot be read is told and does not keep the others from answering. */
export async function listOffers(options: RegistryOptions): Promise<Search> {
  const search: Search = { offers: [], problems: [] };
  const registries = [...new Set(options.registries), bundledRegistry];
  for (const [index, registry] of registries.entries()) {
    try {
      search.offers.push(...(await offersOf(registry, join(options.scratch, `registry-${index}`), options)));
    } catch (error) {
      if (!isAegisError(error)) throw error;
      search.problems.push(`${registry}: ${error.message}`);
    }
  }
  return search;
}

/** The one offer of a name. Throws `not_found` with the nearest name, `conflict` when several registries have it. */
export function pickOffer(name: string, { offers, problems }: Search): Offer {
  const [first, ...more] = offers.filter((offer) => offer.name === name);
  const unread = problems.length === 0 ? "" : `; not read: ${problems.join("; ")}`;
  if (first === undefined) {
    const names = offers.map((offer) => offer.name);
    throw new AegisError("not_found", `no registry has a plugin "${name}"${didYouMean(name, names)}${unread}`, {
      hint: "name its source with --from, or see what there is with: aegis plugin search",
    });
  }
  if (more.length === 0) return first;
  const sources = [first, ...more].map((offer) => `  --from ${offer.source}`).join("\n");
  throw new AegisError("conflict", `${more.length + 1} registries have a plugin "${name}"; say which one:\n${sources}`);
}

async function offersOf(registry: string, into: string, options: RegistryOptions): Promise<Offer[]> {
  const source = registrySource(registry, options);
  const { dir } = await openSource(source, into, options);
  const folder = source.kind === "git" ? join(dir, source.path ?? usualFolder) : dir;
  const below = (path: string) => sourceBelow(registry, source, folder, path);
  const index = await readIndex(folder);
  if (index === null) return folderOffers(registry, folder, below);
  return Promise.all(
    index.plugins.map(async ({ name, version, description, path, source: elsewhere }) => {
      if (elsewhere === undefined && (await containedPath(folder, path ?? name)) === null)
        throw new AegisError("invalid", `${indexName}: "${path ?? name}" leaves the registry`);
      return { name, version, description, registry, source: elsewhere ?? below(path ?? name) };
    }),
  );
}

function registrySource(registry: string, { githubUrl, root, bundledDir }: RegistryOptions): Source {
  if (registry === bundledRegistry) return { kind: "folder", text: registry, path: bundledDir };
  if (/^[a-z+]+:/.test(registry) || isAbsolute(registry)) return parseSource(registry, githubUrl);
  return { kind: "folder", text: registry, path: resolve(root, registry) };
}

/** How a plugin of the registry is named by itself. */
function sourceBelow(registry: string, source: Source, folder: string, path: string): string {
  if (registry === bundledRegistry) return `${bundledPrefix}${path}`;
  if (source.kind !== "git") return join(folder, path);
  const [place = ""] = source.text.split("#");
  return `${place}#${source.path ?? usualFolder}/${path}`;
}

async function readIndex(folder: string): Promise<z.infer<typeof indexSchema> | null> {
  let text: string;
  try {
    text = await readFile(join(folder, indexName), "utf8");
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return null;
    throw new AegisError("unavailable", `${indexName} cannot be read: ${errorText(error)}`, { cause: error });
  }
  try {
    return indexSchema.parse(JSON.parse(text), { jitless: true });
  } catch (error) {
    const issue = error instanceof z.ZodError ? error.issues[0] : undefined;
    const what = issue === undefined ? errorText(error) : `${issue.path.join(".")}: ${issue.message}`;
    throw new AegisError("invalid", `${indexName}: ${what}`, { cause: error });
  }
}

async function folderOffers(registry: string, folder: string, below: (path: string) => string): Promise<Offer[]> {
  let names: string[];
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    names = entries
      .filter((entry) => entry.isDirectory() && pluginNamePattern.test(entry.name))
      .map((entry) => entry.name);
  } catch (error) {
    // The package may come without plugins; any other registry was named by somebody.
    if (registry === bundledRegistry && isErrno(error, "ENOENT")) return [];
    throw new AegisError("unavailable", errorText(error), { cause: error });
  }
  const offers: Offer[] = [];
  for (const name of names.sort()) {
    if (!(await hasManifest(join(folder, name)))) continue;
    const { manifest, diagnostics } = await readManifest(join(folder, name));
    const broken = diagnostics.find((one) => one.level === "error");
    const description = manifest?.description ?? `(its manifest is wrong: ${broken?.message ?? "unreadable"})`;
    offers.push({ name, version: manifest?.version ?? null, description, registry, source: below(name) });
  }
  return offers;
}
