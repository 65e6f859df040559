/** A registry on this machine that speaks ClawHub's v1 API, with real archives, and misbehaves when told to. */
import { createHash } from "node:crypto";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { makeZip, type ZipEntry } from "./zip.ts";

export type FakeSkill = {
  owner?: string;
  /** By version, the newest last. */
  versions: Record<string, Record<string, ZipEntry>>;
  moderation?: { isSuspicious: boolean; isMalwareBlocked: boolean; reasonCodes: string[] };
  /** Instead of an archive. */
  handOff?: { repo: string; commit: string; path: string };
  /** Sent instead of the archive that was listed. */
  archive?: Buffer;
};

/** What to do with the next request for a path that holds the text, once for each time it is listed. */
export type Misbehaviour =
  | { kind: "status"; status: number; headers?: Record<string, string>; body?: string }
  | { kind: "cut" }
  | { kind: "redirect"; to: string };

export type FakeClawHub = {
  url: string;
  skills: Map<string, FakeSkill>;
  /** Paths with their queries, in order. */
  requests: string[];
  tokens: (string | undefined)[];
  misbehave(path: string, ...how: Misbehaviour[]): void;
};

/** A page with a header, as most of them look. */
export function skillPage(name: string, body = "Do it well.", description = `Helps with ${name}.`): string {
  return `---\nname: ${name}\ndescription: ${description}\n---\n\n# ${name}\n\n${body}\n`;
}

export async function fakeClawHub(skills: Record<string, FakeSkill>): Promise<FakeClawHub> {
  const plans: { path: string; how: Misbehaviour }[] = [];
  const hub: FakeClawHub = {
    url: "",
    skills: new Map(Object.entries(skills)),
    requests: [],
    tokens: [],
    misbehave: (path, ...how) => plans.push(...how.map((one) => ({ path, how: one }))),
  };
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://hub");
    hub.requests.push(`${url.pathname}${url.search}`);
    hub.tokens.push(request.headers.authorization);
    const plan = plans.findIndex(({ path }) => url.pathname.includes(path));
    if (plan === -1) return answer(hub, url, response);
    const [{ how } = { how: { kind: "cut" } as Misbehaviour }] = plans.splice(plan, 1);
    misbehave(how, response);
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  hub.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return hub;
}

function misbehave(how: Misbehaviour, response: ServerResponse): void {
  if (how.kind === "status") response.writeHead(how.status, how.headers).end(how.body ?? "no");
  else if (how.kind === "redirect") response.writeHead(302, { location: how.to }).end();
  else {
    response.writeHead(200, { "content-type": "application/zip", "content-length": 10_000 });
    response.write("PK", () => response.destroy());
  }
}

function answer(hub: FakeClawHub, url: URL, response: ServerResponse): void {
  const { status = 200, value } = reply(hub, url);
  if (value instanceof Uint8Array) response.writeHead(status, { "content-type": "application/zip" }).end(value);
  else if (typeof value === "string") response.writeHead(status, { "content-type": "text/plain" }).end(value);
  else response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
}

type Reply = { status?: number; value: unknown };

function reply(hub: FakeClawHub, url: URL): Reply {
  const [, slug = "", part, version] =
    /^\/api\/v1\/skills\/([^/]+)(?:\/([^/]+)(?:\/([^/]+))?)?$/.exec(url.pathname) ?? [];
  const query = url.searchParams;
  if (url.pathname === "/api/v1/search") return { value: { results: search(hub, query.get("q") ?? "") } };
  const isDownload = url.pathname === "/api/v1/download";
  const name = isDownload ? (query.get("slug") ?? "") : decodeURIComponent(slug);
  const skill = hub.skills.get(name);
  const owner = query.get("ownerHandle");
  if (skill === undefined || (owner !== null && owner !== (skill.owner ?? "alice")))
    return { status: 404, value: "Skill not found" };
  const latest = Object.keys(skill.versions).at(-1) ?? "";
  const wanted = query.get("version") ?? version ?? latest;
  const files = skill.versions[wanted];
  if (files === undefined) return { status: 404, value: "Version not found" };
  if (isDownload) return { value: skill.handOff ?? skill.archive ?? makeZip({ ...files, "_meta.json": "{}" }) };
  if (part === "versions") return { value: { version: { version: wanted, files: listed(files) }, skill: { slug } } };
  if (part === "file") return fileReply(files[query.get("path") ?? ""]);
  return {
    value: {
      skill: {
        slug: name,
        displayName: name,
        summary: `About ${name}`,
        tags: {},
        stats: {},
        createdAt: 1,
        updatedAt: 2,
      },
      latestVersion: { version: latest, createdAt: 1, changelog: "" },
      metadata: null,
      owner: { handle: skill.owner ?? "alice", displayName: null, image: null },
      moderation: skill.moderation ?? null,
    },
  };
}

function fileReply(file: ZipEntry | undefined): Reply {
  return file === undefined ? { status: 404, value: "no file" } : { value: bytes(file).toString() };
}

function search(hub: FakeClawHub, words: string): unknown[] {
  return [...hub.skills].flatMap(([slug, skill]) =>
    slug.includes(words)
      ? [
          {
            score: 1,
            slug,
            displayName: slug,
            summary: `About ${slug}`,
            version: Object.keys(skill.versions).at(-1),
            ownerHandle: skill.owner ?? "alice",
          },
        ]
      : [],
  );
}

function listed(files: Record<string, ZipEntry>): unknown[] {
  return Object.entries(files).map(([path, file]) => ({
    path,
    size: bytes(file).length,
    sha256: createHash("sha256").update(bytes(file)).digest("hex"),
  }));
}

function bytes(entry: ZipEntry): Buffer {
  if (typeof entry === "string") return Buffer.from(entry);
  if (entry instanceof Uint8Array) return Buffer.from(entry);
  return Buffer.from(entry.content);
}
