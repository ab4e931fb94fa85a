"""look.py URL DIRECTORY AXE (NAME PATH HOW)...: opens pages of an exporter in a headless Chromium, saves what they look like,
and holds each to what every page must be: nothing complains, nothing runs, nothing is loaded but the style sheet, nothing is
wider than the window, and axe-core finds no violation. Prints each fault in a line of its own; exit status 1 if there are any.
It does not know what the pages say.

HOW is `whole`: all of that, at three sizes, light and dark, and by keys; `main`: the same with pictures at three sizes in light
only; `ruled`: pictures of the smallest size in light and the largest in dark, and the rules; `pictures`: those, without the
rules; `opened`: opened with scripts and without the policy, so that whatever would run, runs.
"""

import os
import sys
import time

from playwright.sync_api import sync_playwright

SIZES = [(360, 740), (768, 1024), (1280, 900)]
# Where a page is long, the picture is of its beginning; all of it is tested.
TALLEST = 4000
RULES = {'runOnly': ['wcag2a', 'wcag2aa', 'wcag2aaa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']}
COLOURS = {'runOnly': {'type': 'rule', 'values': ['color-contrast', 'color-contrast-enhanced']}}


def sizes(how, scheme):
    """The sizes at which a page is looked at in a colour scheme."""
    if how == 'whole' or how == 'main' and scheme == 'light':
        return SIZES
    return SIZES[:1] if scheme == 'light' else SIZES[-1:]


def still(path):
    """A page that does not reload while it is looked at."""
    return path + ('&' if '?' in path else '?') + 'refresh=off'


class Look:
    """Pages in one browser, and what is wrong with them."""

    def __init__(self, browser, url, directory, axe):
        self.browser, self.url, self.directory = browser, url, directory
        self.axe = open(axe, encoding='utf-8').read()
        self.faults = []

    def fault(self, where, what):
        self.faults.append(f'{where}: {what}')

    def page(self, where, **kind):
        """A new page that tells what goes wrong in it."""
        context = self.browser.new_context(**kind)
        page = context.new_page()
        page.on('console', lambda m: self.fault(where, f'console: {m.text}'))
        page.on('pageerror', lambda e: self.fault(where, f'error: {e}'))
        page.on('dialog', lambda d: (self.fault(where, f'dialog: {d.message}'), d.dismiss()))
        page.on('requestfailed', lambda r: self.fault(where, f'not loaded: {r.url}'))

        def asked(request):
            path = request.url.removeprefix(self.url)
            if request.resource_type not in ('document', 'stylesheet') or path == request.url:
                self.fault(where, f'asks for {request.url}')

        page.on('request', asked)
        return page

    def as_it_is(self, name, path, how):
        """Without scripts, as the policy has it: the picture at each size, light and dark."""
        for scheme in ('light', 'dark'):
            where = f'{name} {scheme}'
            page = self.page(where, color_scheme=scheme, java_script_enabled=False)
            begun = time.monotonic()
            answer = page.goto(self.url + still(path), wait_until='load')
            took = time.monotonic() - begun
            if answer.status != 200:
                self.fault(where, f'status {answer.status}')
            if took > 30:
                self.fault(where, f'took {took:.1f} s')
            for width, height in sizes(how, scheme):
                page.set_viewport_size({'width': width, 'height': height})
                file = os.path.join(self.directory, f'{name}-{width}-{scheme}.png')
                tall = page.locator('body').bounding_box()['height']
                clip = {'x': 0, 'y': 0, 'width': width, 'height': min(int(tall) + 1, TALLEST)}
                page.screenshot(path=file, full_page=True, clip=clip)
            page.context.close()

    def by_the_rules(self, name, path, how):
        """With axe-core, which has to be let past the policy; and whether anything is cut off, or out of reach of keys."""
        page = self.page(name, bypass_csp=True)
        page.goto(self.url + still(path))
        for width, height in SIZES:
            page.set_viewport_size({'width': width, 'height': height})
            wide = page.evaluate('document.documentElement.scrollWidth')
            if wide > width:
                self.fault(name, f'is {wide} px wide at {width} px')
        if how in ('whole', 'main', 'ruled'):
            page.evaluate(self.axe)
            # Sizes differ in what is where, schemes in colours only.
            page.set_viewport_size({'width': SIZES[0][0], 'height': SIZES[0][1]})
            self.ask_axe(page, f'{name} light', RULES)
            page.set_viewport_size({'width': SIZES[-1][0], 'height': SIZES[-1][1]})
            page.emulate_media(color_scheme='dark')
            self.ask_axe(page, f'{name} dark', COLOURS)
        page.context.close()

    def ask_axe(self, page, where, rules):
        """Tells what breaks the rules."""
        found = page.evaluate('rules => axe.run(document, rules)', rules)
        for rule in found['violations']:
            node = rule['nodes'][0]
            self.fault(where, f"axe {rule['id']} ({len(rule['nodes'])}): {rule['help']}: {node['html'][:200]}"
                              f" {node.get('failureSummary', '')[:300]!r}")

    def by_keys(self, name, path):
        """Everything that can be used is reached by the tab key, the first of it the way past the head of the page."""
        page = self.page(f'{name} keys')
        page.goto(self.url + still(path))
        usable = page.evaluate("document.querySelectorAll('a[href], input:not([type=hidden]), button').length")
        page.keyboard.press('Tab')
        first = page.evaluate("[document.activeElement.className, document.activeElement.getBoundingClientRect().left >= 0]")
        if first != ['skip', True]:
            self.fault(name, f'the first tab stop is {first}')
        reached = 1
        while reached < min(usable, 40):
            page.keyboard.press('Tab')
            if page.evaluate("document.activeElement === document.body || !document.activeElement.matches(':focus-visible')"):
                break
            reached += 1
        if reached < min(usable, 40):
            self.fault(name, f'{reached} of {usable} can be reached by the tab key')
        page.context.close()

    def stands(self, path):
        """A page that will reload itself, with a reader in the middle of it."""
        page = self.page('reload', java_script_enabled=True, viewport={'width': 360, 'height': 500})
        page.goto(self.url + path)
        page.evaluate('scrollTo(0, 300)')
        loads = []
        page.on('load', lambda _: loads.append(True))
        return page, loads

    def stood(self, page, loads):
        """It reloaded, and the reader is where she was."""
        begun = time.monotonic()
        while not loads and time.monotonic() - begun < 30:
            page.wait_for_timeout(100)
        page.wait_for_timeout(200)
        at = page.evaluate('scrollY')
        if not loads or at != 300:
            self.fault('reload', f'loaded {len(loads)} times by itself, and scrolled from 300 to {at}')
        page.context.close()


def main():
    url, directory, axe, *pages = sys.argv[1:]
    os.makedirs(directory, exist_ok=True)
    begun = time.monotonic()
    with sync_playwright() as playwright:
        program = os.environ.get('CHROMIUM', '/usr/bin/chromium')
        browser = playwright.chromium.launch(executable_path=program, args=['--no-sandbox'])
        look = Look(browser, url, directory, axe)
        reader = look.stands(pages[1]) if pages[2] in ('whole', 'main') else None
        for name, path, how in zip(pages[::3], pages[1::3], pages[2::3]):
            begun_page = time.monotonic()
            if how != 'opened':
                look.as_it_is(name, path, how)
            seen = time.monotonic()
            look.by_the_rules(name, path, how)
            if how in ('whole', 'main'):
                look.by_keys(name, path)
            print(f'{name}: {seen - begun_page:.1f} s to look, {time.monotonic() - seen:.1f} s by the rules')
        if reader:
            look.stood(*reader)
        browser.close()
    for fault in look.faults:
        print(fault)
    print(f'{len(pages) // 3} pages in {time.monotonic() - begun:.1f} s, {len(look.faults)} faults')
    sys.exit(bool(look.faults))


main()
