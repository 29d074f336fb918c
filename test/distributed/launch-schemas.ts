/**
 * Strict JSON schemas for the parts of compose files and of Kubernetes' objects that examples/distributed/launch uses: a name
 * that the format does not have at its place is refused. Names and types are those of the Compose specification and of
 * Kubernetes' API (apps/v1, v1, policy/v1).
 */
import Ajv, { type ValidateFunction } from 'ajv';

type Schema = Record<string, unknown>;

const text: Schema = { type: 'string' };
const count: Schema = { type: 'integer', minimum: 0 };
const flag: Schema = { type: 'boolean' };
const texts: Schema = { type: 'array', items: text };
const list = (items: Schema): Schema => ({ type: 'array', items, minItems: 1 });
const map = (values: Schema): Schema => ({ type: 'object', additionalProperties: values });
const only = (properties: Schema, ...required: string[]): Schema => {
  return { type: 'object', properties, required, additionalProperties: false };
};

const quantity: Schema = { type: 'string', pattern: '^\\d+(\\.\\d+)?([mkMGT]|[KMGT]i)?$' };
const metadata = only({ name: text, namespace: text, labels: map(text), annotations: map(text) });
const selector = only({ matchLabels: map(text) });
const portNumber: Schema = { type: 'integer', minimum: 1, maximum: 65_535 };
const portOrName: Schema = { anyOf: [portNumber, text] };
const probe = only(
  {
    httpGet: only({ path: text, port: portOrName, scheme: text }, 'port'),
    ...{ initialDelaySeconds: count, periodSeconds: count, timeoutSeconds: count },
    ...{ failureThreshold: count, successThreshold: count },
  },
  'httpGet',
);
const resources = only({ requests: map(quantity), limits: map(quantity) });
const container = only(
  {
    ...{ name: text, image: text, command: texts, args: texts, resources },
    ports: list(only({ name: text, containerPort: portNumber, protocol: text }, 'containerPort')),
    env: list(only({ name: text, value: text }, 'name')),
    ...{ startupProbe: probe, livenessProbe: probe, readinessProbe: probe },
    volumeMounts: list(only({ name: text, mountPath: text, readOnly: flag }, 'name', 'mountPath')),
    securityContext: only({
      allowPrivilegeEscalation: flag,
      capabilities: only({ drop: texts, add: texts }),
      readOnlyRootFilesystem: flag,
    }),
  },
  'name',
  'image',
);
const volume = only(
  { name: text, persistentVolumeClaim: only({ claimName: text, readOnly: flag }, 'claimName') },
  'name',
);
const pod = only(
  {
    metadata,
    spec: only(
      {
        containers: list(container),
        volumes: list(volume),
        terminationGracePeriodSeconds: count,
        securityContext: only({ runAsNonRoot: flag, runAsUser: count, fsGroup: count }),
      },
      'containers',
    ),
  },
  'spec',
);

const object = (apiVersion: string, kind: string, spec: Schema): Schema => {
  return only(
    { apiVersion: { const: apiVersion }, kind: { const: kind }, metadata, spec },
    'apiVersion',
    'kind',
    'spec',
  );
};

const deployment = object(
  'apps/v1',
  'Deployment',
  only(
    {
      ...{ replicas: count, selector, template: pod },
      strategy: only({ type: text, rollingUpdate: only({ maxUnavailable: count, maxSurge: count }) }),
    },
    'selector',
    'template',
  ),
);
const service = object(
  'v1',
  'Service',
  only(
    { selector: map(text), ports: list(only({ name: text, port: portNumber, targetPort: portOrName }, 'port')) },
    'ports',
  ),
);
const budget = object('policy/v1', 'PodDisruptionBudget', only({ minAvailable: count, selector }, 'selector'));
const replicas = only({ replicas: count, restartPolicy: text, template: pod }, 'template');
const pytorchJob = object(
  'kubeflow.org/v1',
  'PyTorchJob',
  only(
    {
      runPolicy: only({ backoffLimit: count, cleanPodPolicy: text }),
      pytorchReplicaSpecs: only({ Master: replicas, Worker: replicas }, 'Master'),
    },
    'pytorchReplicaSpecs',
  ),
);

const duration: Schema = { type: 'string', pattern: '^(\\d+(ms|s|m|h))+$' };
const compose = only(
  {
    services: map(
      only(
        {
          ...{ image: text, command: texts, expose: texts, ports: texts, volumes: texts, restart: text },
          ...{ mem_limit: { type: 'string', pattern: '^\\d+[bkmg]$' }, stop_grace_period: duration },
          healthcheck: only(
            { test: texts, interval: duration, timeout: duration, retries: count, start_period: duration },
            'test',
          ),
          depends_on: map(only({ condition: { enum: ['service_started', 'service_healthy'] } }, 'condition')),
          configs: list(only({ source: text, target: text }, 'source')),
        },
        'image',
      ),
    ),
    configs: map(only({ content: text, file: text })),
  },
  'services',
);

const ajv = new Ajv({ strict: true, allErrors: true });
const compiled = (schema: Schema): ValidateFunction => ajv.compile(schema);

export const schemas: Record<string, ValidateFunction> = {
  compose: compiled(compose),
  Deployment: compiled(deployment),
  Service: compiled(service),
  PodDisruptionBudget: compiled(budget),
  PyTorchJob: compiled(pytorchJob),
};

/** What is wrong with a document, by the path of each mistake. */
export function mistakesIn(kind: string, document: unknown): string[] {
  const validate = schemas[kind]!;
  if (validate(document)) return [];
  return validate.errors!.map(({ instancePath, message, params }) => {
    const name = (params as { additionalProperty?: string }).additionalProperty;
    return `${instancePath}${name === undefined ? '' : `/${name}`}: ${message}`;
  });
}
