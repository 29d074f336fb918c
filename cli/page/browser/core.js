/** Shared by the page's scripts: the data and number formats. All scripts are in one script element. */
globalThis.page = (() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

  /** @param {number} bytes */
  function formatBytes(bytes) {
    let value = Math.abs(bytes);
    let unit = 0;
    while (value >= 1023.95 && unit < UNITS.length - 1) {
      value /= 1024;
      unit++;
    }
    return `${bytes < 0 ? '-' : ''}${unit === 0 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`;
  }

  /** @param {number} ms */
  function formatDuration(ms) {
    if (ms < 1000) return `${Math.round(ms)} ms`;
    if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
    const seconds = Math.round(ms / 1000);
    if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
    return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  }

  /** @param {string} text */
  const escapeHtml = (text) => text.replace(/[&<>"']/g, (character) => ENTITIES[character]);

  /** Creates an element with properties and children; names with a dash are attributes. */
  function element(name, properties = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(properties)) {
      if (key in made && !key.includes('-')) made[key] = value;
      else made.setAttribute(key, value);
    }
    made.append(...children);
    return made;
  }

  return { data, formatBytes, formatDuration, escapeHtml, element };
})();
