import { StoreAwayError } from "@aegis/store/transact.ts";
import { describe, expect, it } from "vitest";
import { isTransient, postgresError } from "../src/errors.ts";

/** PgBouncer gives all of its errors the same code. */
const ofPooler = (text: string) => Object.assign(new Error(text), { code: "08P01" });

describe("an error of a connection pooler", () => {
  it.each([
    "server login has been failing, try again later (server_login_retry)",
    "query_wait_timeout",
    "server conn crashed?",
    "pgbouncer cannot connect to server",
    "no more connections allowed (max_client_conn)",
    "the database system is shutting down",
  ])("passes: %s", (text) => {
    expect(isTransient(ofPooler(text))).toBe(true);
    expect(postgresError(ofPooler(text), "the server")).toBeInstanceOf(StoreAwayError);
  });

  it.each([
    ["transaction blocks not allowed in statement pooling mode", "session mode"],
    ["unsupported startup parameter: options", "ignore_startup_parameters"],
    ["no such database: nowhere", "check the role"],
    ["no such user: stranger", "check the role"],
    ["server login failed: FATAL password authentication failed for user", "check the role"],
  ])("does not pass: %s", (text, hint) => {
    expect(isTransient(ofPooler(text))).toBe(false);
    expect(postgresError(ofPooler(text), "the server")).toMatchObject({
      code: "unavailable",
      message: `the server refused: ${text}`,
      hint: expect.stringContaining(hint),
    });
  });
});

describe("an error of the machine", () => {
  const errno = (code: string, syscall: string) => Object.assign(new Error(`${code}: ${syscall}`), { code, syscall });

  it("passes if the server or the network is away", () => {
    for (const error of [errno("ECONNRESET", "read"), errno("ENOENT", "connect"), errno("EPIPE", "write")])
      expect(isTransient(error)).toBe(true);
  });

  it("does not pass if a file of the URL cannot be read", () => {
    for (const error of [errno("ENOENT", "open"), errno("EACCES", "open"), errno("EISDIR", "read")]) {
      expect(isTransient(error)).toBe(false);
      expect(postgresError(error, "the server")).toMatchObject({ hint: expect.stringContaining("sslrootcert") });
    }
  });
});
