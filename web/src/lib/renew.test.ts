import { QueryClient, QueryObserver } from "@tanstack/react-query";
import { expect, test } from "vitest";
import { renew } from "./renew";

test("news that comes during the first reading is not lost", async () => {
  const queries = new QueryClient();
  const answers: ((text: string) => void)[] = [];
  const observer = new QueryObserver(queries, { queryKey: ["task"], queryFn: () => new Promise<string>((resolve) => answers.push(resolve)) });
  const stop = observer.subscribe(() => {});
  const done = renew(queries, ["task"]);
  await expect.poll(() => answers.length).toBe(2);
  answers[0]?.("working");
  answers[1]?.("failed");
  await done;
  expect(queries.getQueryData(["task"])).toBe("failed");
  stop();
});
