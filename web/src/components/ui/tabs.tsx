import { Tabs } from "radix-ui";
import { useEffect, useRef } from "react";
import { cx } from "#/lib/cx";

type TabBarProps<V extends string> = {
  label: string;
  all: readonly V[];
  value: V;
  words: (tab: V) => string;
  /** `side`: a column at the side of its page, a row where there is no room for one. */
  look?: "line" | "side";
};

const looks = {
  line: {
    list: "-mx-1 mb-7 gap-1 border-line border-b px-1",
    tab:
      "-mb-px rounded-t-control border-transparent border-b-2 px-3 pt-1.5 pb-2.5 font-medium hover:text-text " +
      "data-[state=active]:border-accent data-[state=active]:text-text",
  },
  side: {
    list: "-mx-4 gap-1 px-4 md:mx-0 md:flex-col md:px-0",
    tab:
      "rounded-control px-3 py-1.5 text-left hover:bg-hover hover:text-text " +
      "data-[state=active]:bg-selected data-[state=active]:font-medium data-[state=active]:text-text",
  },
};

/** The row of tabs of a page, inside a `Tabs.Root`. Where it does not fit it scrolls, and the chosen tab is always in sight. */
export function TabBar<V extends string>({ label, all, value, words, look = "line" }: TabBarProps<V>) {
  const list = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is the chosen tab that moves the row
  useEffect(() => {
    const row = list.current;
    const tab = row?.querySelector<HTMLElement>('[data-state="active"]');
    if (!row || !tab || row.scrollWidth <= row.clientWidth) return;
    // Only the row scrolls: `scrollIntoView` would also move the page.
    const [from, to] = [tab.offsetLeft - row.offsetLeft, tab.offsetLeft - row.offsetLeft + tab.offsetWidth];
    row.scrollLeft = from - (row.clientWidth - (to - from)) / 2;
  }, [value]);
  return (
    <Tabs.List ref={list} aria-label={label} className={cx("flex overflow-x-auto", looks[look].list)}>
      {all.map((name) => (
        <Tabs.Trigger
          key={name}
          value={name}
          className={cx("hit ring-inset-focus whitespace-nowrap text-side text-text-2 transition-colors", looks[look].tab)}
        >
          {words(name)}
        </Tabs.Trigger>
      ))}
    </Tabs.List>
  );
}
