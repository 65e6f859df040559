/** Resolves the `cluster:` section of a configuration for this machine. */
import { hostname } from "node:os";
import { basename } from "node:path";
import { AegisError } from "@aegis/contract/errors.ts";
import type { Environment } from "@aegis/lib/child-env.ts";
import { durationMs } from "@aegis/lib/duration.ts";
import { didYouMean } from "@aegis/lib/nearest.ts";
import { soleVariable } from "@aegis/lib/variables.ts";
import { serverUrls } from "@aegis/store-postgres/url.ts";
import { expectedUrl, urlProblem } from "@aegis/store-postgres/url-problem.ts";
import type { Config } from "./config/config.ts";
import { findPlace } from "./config/find-place.ts";
import { refusalText, type TrustedSettings } from "./trust/trusted-settings.ts";

export type ClusterSettings = {
  /** The URL of the database. It may hold a password. */
  url: string;
  /** The variable that holds the URL. */
  variable: string;
  /** The name that all nodes of the project share. */
  project: string;
  /** The PostgreSQL schema that holds the project's tables. */
  schema: string;
  node: string;
  labels: readonly string[];
  /** Null means no limit. */
  maxSessions: number | null;
  leaseMs: number;
  giveUpMs: number;
};

/**
 * Returns null for a project with an embedded database. Throws `forbidden` if the user did not agree to the section:
 * with any other database the project would seem to be empty.
 */
export async function clusterSettings(
  { config, untrusted }: Pick<TrustedSettings, "config" | "untrusted">,
  { root, env }: { root: string; env: Environment },
): Promise<ClusterSettings | null> {
  if (config.cluster === undefined) return null;
  const refused = untrusted.find(({ item }) => item.kind === "settings" && item.name.startsWith("cluster."));
  if (refused !== undefined)
    throw new AegisError("forbidden", refusalText(refused.item, refused), {
      hint: "agree to it with: aegis trust",
    });
  return readCluster(config.cluster, { root, env });
}

async function readCluster(
  said: NonNullable<Config["cluster"]>,
  { root, env }: { root: string; env: Environment },
): Promise<ClusterSettings> {
  const variable = soleVariable(said.database ?? "") ?? "";
  const project = said.project ?? projectName(root);
  return {
    url: await databaseUrl(variable, { root, env }),
    variable,
    project,
    schema: schemaOf(project),
    node: said.node ?? nodeName(hostname()),
    labels: said.labels,
    maxSessions: said.max_sessions ?? null,
    leaseMs: durationMs(said.lease) ?? 0,
    giveUpMs: durationMs(said.give_up) ?? 0,
  };
}

/** The texts that must not appear anywhere: the URL, and its password in both spellings. */
export function clusterSecrets({ url }: ClusterSettings): string[] {
  const [server] = serverUrls(url);
  const { password = "", searchParams } = server === undefined ? {} : new URL(server);
  const parameter = searchParams?.get("password") ?? "";
  const spellings = [password, safelyDecoded(password), parameter, encodeURIComponent(parameter)];
  return [...new Set([url, ...spellings])].filter((value) => value !== "");
}

function schemaOf(project: string): string {
  return `aegis_${project}`;
}

/** Throws `invalid` with the place of the setting. */
async function databaseUrl(variable: string, { root, env }: { root: string; env: Environment }): Promise<string> {
  const url = env[variable]?.trim() ?? "";
  const found =
    url === ""
      ? {
          problem: `is not set${didYouMean(variable, otherNames(env, variable))}`,
          hint: `set it to ${expectedUrl} in the environment in which you start Aegis`,
        }
      : unusable(url);
  if (found === null) return url;
  const { file, line } = await findPlace(root, ["cluster", "database"]);
  const place = file === null ? "" : `${file}:${line} `;
  throw new AegisError("invalid", `${place}cluster.database: the variable ${variable} ${found.problem}`, {
    hint: found.hint,
  });
}

/** The variable itself may be set to an empty text. */
function otherNames(env: Environment, variable: string): string[] {
  return Object.keys(env).filter((name) => name !== variable);
}

function unusable(url: string): { problem: string; hint: string } | null {
  const found = urlProblem(url);
  return found === null ? null : { ...found, problem: `does not hold a database URL: ${found.problem}` };
}

function projectName(root: string): string {
  const name = basename(root)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "_")
    .replace(/^[^a-z]+/, "")
    .slice(0, 50)
    .replace(/_+$/, "");
  if (name === "")
    throw new AegisError("invalid", `cluster.project: the folder's name ${basename(root)} gives no project name`, {
      hint: "set cluster.project to a name that all nodes of this project share",
    });
  return name;
}

function nodeName(host: string): string {
  const name = host
    .replace(/[^A-Za-z0-9._-]+/g, "-")
    .replace(/^[^A-Za-z0-9]+/, "")
    .slice(0, 63);
  return name === "" ? "node" : name;
}

function safelyDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
