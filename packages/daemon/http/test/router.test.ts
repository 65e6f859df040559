import { expect, test } from "vitest";
import { Router } from "../src/router.ts";

function routed(...routes: readonly `${string} ${string}`[]) {
  const router = new Router<string>();
  for (const route of routes) {
    const [method = "", path = ""] = route.split(" ");
    router.add(method, path, route);
  }
  return router;
}

test("prefers a fixed word to a parameter, and goes back if the fixed path ends early", () => {
  const router = routed("GET /a/:name", "GET /a/search", "GET /a/:name/b", "GET /a/search/c");
  expect(router.find("GET", "/a/search")).toMatchObject({ entry: "GET /a/search", parameters: {} });
  expect(router.find("GET", "/a/other")).toMatchObject({ entry: "GET /a/:name", parameters: { name: "other" } });
  expect(router.find("GET", "/a/search/b")).toMatchObject({ entry: "GET /a/:name/b", parameters: { name: "search" } });
});

test("names the parameters as the route of the method does", () => {
  const router = routed("GET /a/:one", "DELETE /a/:two");
  expect(router.find("GET", "/a/x")).toMatchObject({ parameters: { one: "x" } });
  expect(router.find("DELETE", "/a/x")).toMatchObject({ parameters: { two: "x" } });
});

test("answers HEAD with GET, and lists the methods of a path for any other", () => {
  const router = routed("GET /a", "POST /a");
  expect(router.find("HEAD", "/a")).toMatchObject({ entry: "GET /a" });
  expect(router.find("PUT", "/a")).toEqual({ kind: "wrong method", methods: ["GET", "HEAD", "POST"] });
});

test("decodes each segment by itself", () => {
  const router = routed("GET /a/:name", "GET /a/:name/b");
  expect(router.find("GET", "/a/x%2Fb")).toMatchObject({ entry: "GET /a/:name", parameters: { name: "x/b" } });
  expect(router.find("GET", "/%61/%25")).toMatchObject({ parameters: { name: "%" } });
  expect(router.find("GET", "/a/%E0%A4")).toMatchObject({ parameters: { name: "%E0%A4" } });
});

test.each(["/", "/a", "/a/", "//a/x", "/a/x/", "/A/x", "/a/x/y", "a/x"])("knows no route %s", (path) => {
  expect(routed("GET /a/:name").find("GET", path)).toEqual({ kind: "unknown" });
});
