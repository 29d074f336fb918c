/** The templates, in the order of the prompt. Each is a folder of templates/; templates/common is part of all. */
export const templates = {
  service: {
    summary: 'an HTTP service: a model behind JSON, limits, a shutdown that loses no request',
    next: 'npm start',
  },
  training: {
    summary: 'a training program: a module, batches, an optimizer, a saved model',
    next: 'npm start',
  },
  audit: {
    summary: 'a job whose memory CI checks: leak-audit with a baseline, JUnit and SARIF',
    next: 'npm test',
  },
};

export const defaultTemplate = 'service';
export const templateNames = Object.keys(templates);
