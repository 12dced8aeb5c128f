package cronlint

import "testing"

func TestResilience4j(t *testing.T) {
	runTextCases(t, []textCase{
		{
			name: "kebab case and exponential without jitter", file: "application.yaml",
			text: "resilience4j:\n  retry:\n    instances:\n      a:\n        max-attempts: 4\n        wait-duration: 2s\n        enable-exponential-backoff: true\n",
			want: []string{"6 HS203 warning"},
		},
		{
			name: "jitter on", file: "application.yaml",
			text: "resilience4j:\n  retry:\n    instances:\n      a:\n        wait-duration: 2s\n        enable-randomized-wait: true\n",
		},
		{
			name: "flags without waitDuration are dead", file: "application.yml",
			text: "resilience4j.retry:\n  instances:\n    a:\n      enableExponentialBackoff: true\n      enableRandomizedWait: true\n",
			want: []string{"4 HS205 warning", "5 HS205 error"},
		},
		{
			name: "factor without flag is dead", file: "application.yml",
			text: "resilience4j.retry.configs.default:\n  waitDuration: 1s\n  randomizedWaitFactor: 0.3\n",
			want: []string{"3 HS205 error"},
		},
		{
			name: "cap without multiplier is dead", file: "application.yml",
			text: "resilience4j.retry.configs.default:\n  waitDuration: 1s\n  enableExponentialBackoff: true\n  exponentialMaxWaitDuration: 9s\n  enableRandomizedWait: true\n",
			want: []string{"4 HS205 warning"},
		},
		{
			name: "instances inherit: once, at the base", file: "application.yml",
			text: "resilience4j.retry:\n  configs:\n    default:\n      waitDuration: 1s\n    slow:\n      waitDuration: 5s\n      enableRandomizedWait: true\n" +
				"  instances:\n    a:\n      baseConfig: default\n    b:\n      maxAttempts: 5\n    c:\n      waitDuration: 3s\n    d:\n      baseConfig: slow\n",
			want: []string{"4 HS202 warning"},
		},
		{
			name: "own wait beside the base's flags", file: "application.yml",
			text: "resilience4j.retry:\n  configs:\n    default:\n      waitDuration: 1s\n      enableRandomizedWait: true\n" +
				"  instances:\n    a:\n      waitDuration: 3s\n",
		},
		{
			name: "an instance switches the base's jitter off", file: "application.yml",
			text: "resilience4j.retry:\n  configs:\n    default:\n      waitDuration: 1s\n      enableRandomizedWait: true\n" +
				"  instances:\n    a:\n      waitDuration: 3s\n      enableRandomizedWait: false\n",
			want: []string{"8 HS202 warning"},
		},
		{
			name: "defaults alone are 500 ms fixed", file: "application.yml",
			text: "resilience4j.retry:\n  instances:\n    a:\n      maxAttempts: 4\n",
			want: []string{"3 HS202 warning"},
		},
		{
			name: "one attempt is no retry", file: "application.yml",
			text: "resilience4j.retry:\n  instances:\n    a:\n      maxAttempts: 1\n      waitDuration: 1s\n",
		},
		{
			name: "decided by the environment", file: "application.yml",
			text: "resilience4j.retry:\n  instances:\n    a:\n      waitDuration: ${WAIT:1s}\n      enableRandomizedWait: ${JITTER:true}\n",
		},
		{
			name: "decided in code", file: "application.yml",
			text: "resilience4j.retry:\n  instances:\n    a:\n      intervalBiFunction: com.example.Waits\n",
		},
		{
			name: "an unknown base", file: "application-prod.yml",
			text: "resilience4j.retry:\n  instances:\n    a:\n      baseConfig: shared\n      maxAttempts: 4\n",
		},
		{
			name: "a profile's document is laid over the first", file: "application.yml",
			text: "resilience4j.retry.instances.a:\n  waitDuration: 1s\n  enableRandomizedWait: true\n---\nspring.config.activate.on-profile: prod\n" +
				"resilience4j.retry.instances.a:\n  waitDuration: 2s\n",
		},
		{
			name: "a profile's file alone", file: "application-prod.yml",
			text: "resilience4j.retry.instances.a:\n  waitDuration: 2s\n", want: []string{"2 HS202 warning"},
		},
		{
			name: "properties", file: "application.properties",
			text: "# retry\nresilience4j.retry.instances.a.max-attempts=4\nresilience4j.retry.instances.a.wait-duration = 2s\n",
			want: []string{"3 HS202 warning"},
		},
		{
			name: "zero", file: "application.properties",
			text: "resilience4j.retry.instances.a.waitDuration=0\n",
			want: []string{"1 HS201 warning"},
		},
		{
			name: "only a circuit breaker", file: "application.yml",
			text: "resilience4j.circuitbreaker:\n  instances:\n    a:\n      waitDurationInOpenState: 5s\n",
		},
	})
}

func TestRetryFormats(t *testing.T) {
	runTextCases(t, []textCase{
		{
			name: "grpc: growth switched off, attempts cut", file: "svc.json",
			text: `{"methodConfig": [{"name": [{}], "retryPolicy": {"maxAttempts": 9, "initialBackoff": "1s",` + "\n" +
				` "maxBackoff": "1s", "backoffMultiplier": 1, "retryableStatusCodes": ["UNAVAILABLE"]}}]}`,
			want: []string{"1 HS205 warning", "1 HS202 note"},
		},
		{
			name: "grpc: inside another object", file: "bootstrap.json",
			text: `{"serviceConfig": {"methodConfig": [{"name": [{}], "retryPolicy": {"maxAttempts": 3, "initialBackoff": "1s",` + "\n" +
				` "maxBackoff": "9s", "backoffMultiplier": 1}}]}}`,
			want: []string{"1 HS202 note"},
		},
		{name: "grpc: no retries", file: "svc.json", text: `{"methodConfig": [{"name": [{}], "timeout": "5s"}]}`},
		{
			name: "envoy", file: "envoy.yaml",
			text: "static_resources:\n  virtual_hosts:\n  - routes:\n    - route:\n        retry_policy:\n          retry_on: 5xx\n" +
				"          num_retries: 3\n          retry_back_off: {base_interval: 0s}\n" +
				"    - route:\n        retry_policy:\n          retry_on: 5xx\n          retry_back_off: {base_interval: 0.005s}\n" +
				"    - route:\n        retry_policy: {retry_on: 5xx, num_retries: 5}\n",
			want: []string{"8 HS201 warning", "12 HS213 warning"},
		},
		{
			name: "istio: default, off, in milliseconds", file: "vs.yaml",
			text: "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: a}\nspec:\n  http:\n" +
				"  - retries: {attempts: 3}\n  - retries: {attempts: 0, backoff: 1ms}\n  - retries:\n      attempts: 2\n      backoff: 10ms\n",
			want: []string{"10 HS213 warning"},
		},
		{
			name: "envoy gateway", file: "btp.yaml",
			text: "apiVersion: gateway.envoyproxy.io/v1alpha1\nkind: BackendTrafficPolicy\nmetadata: {name: a}\nspec:\n  retry:\n    numRetries: 5\n" +
				"    perRetry:\n      backOff:\n        baseInterval: 100ms\n        maxInterval: 10s\n",
		},
		{
			name: "linkerd", file: "svc.yaml",
			text: "apiVersion: v1\nkind: Service\nmetadata:\n  name: a\n  annotations:\n    retry.linkerd.io/http: 5xx\n    retry.linkerd.io/limit: \"2\"\n",
		},
		{
			name: "linkerd service profile: bounded by a budget", file: "profile.yaml",
			text: "apiVersion: linkerd.io/v1alpha2\nkind: ServiceProfile\nmetadata: {name: a}\nspec:\n  routes:\n" +
				"  - name: GET /\n    isRetryable: true\n  retryBudget: {retryRatio: 0.2, minRetriesPerSecond: 10, ttl: 10s}\n",
		},
		{
			name: "argo: at once, and without an end", file: "wf.yaml",
			text: "apiVersion: argoproj.io/v1alpha1\nkind: WorkflowTemplate\nmetadata: {name: w}\nspec:\n  templates:\n" +
				"  - name: a\n    retryStrategy: {}\n  - name: b\n    retryStrategy:\n      limit: 3\n" +
				"  - name: c\n    retryStrategy:\n      limit: 3\n      backoff:\n        duration: 30s\n",
			want: []string{"7 HS201 note", "7 HS206 warning", "9 HS201 note", "15 HS210 note"},
		},
		{
			name: "temporal", file: "dynamicconfig/production.yaml",
			text: "history.defaultActivityRetryPolicy:\n  - value:\n      InitialIntervalInSeconds: 1\n      MaximumIntervalCoefficient: 100.0\n" +
				"      BackoffCoefficient: 2.0\n      MaximumAttempts: 0\n",
			want: []string{"3 HS210 note"},
		},
		{
			name: "polly: constant, off, standard handler", file: "appsettings.json",
			text: "{\n // retry\n\"A\": {\"MaxRetryAttempts\": 3,\n \"BackoffType\": \"Constant\", \"Delay\": \"00:00:02\"},\n" +
				"\"B\": {\"MaxRetryAttempts\": 3, \"BackoffType\": \"Exponential\",\n  \"UseJitter\": false},\n" +
				"\"Http\": {\"Retry\": {\"MaxRetryAttempts\": 3, \"BackoffType\": \"Constant\"}, \"AttemptTimeout\": {}},\n" +
				"\"C\": {\"MaxRetryAttempts\": 3, \"Delay\": \"00:00:01\"},\n}",
			want: []string{"4 HS202 warning", "6 HS204 warning"},
		},
		{
			name: "spring kafka", file: "application.yml",
			text: "spring:\n  kafka:\n    retry:\n      topic:\n        enabled: true\n        attempts: 5\n        delay: 2s\n",
			want: []string{"7 HS202 warning"},
		},
		{
			name: "spring kafka: random without multiplier", file: "application.properties",
			text: "spring.kafka.retry.topic.enabled=true\nspring.kafka.retry.topic.backoff.random=true\n",
			want: []string{"2 HS205 error"},
		},
		{
			name: "spring kafka: drawn between delay and maximum", file: "application.properties",
			text: "spring.kafka.retry.topic.enabled=true\nspring.kafka.retry.topic.delay=1s\nspring.kafka.retry.topic.max-delay=5s\n",
		},
		{
			name: "spring kafka: cut by the maximum", file: "application.properties",
			text: "spring.kafka.retry.topic.enabled=true\nspring.kafka.retry.topic.attempts=9\nspring.kafka.retry.topic.delay=1s\n" +
				"spring.kafka.retry.topic.multiplier=2\nspring.kafka.retry.topic.max-delay=8s\nspring.kafka.retry.topic.random-back-off=true\n",
			want: []string{"6 HS208 warning"},
		},
		{
			name: "rabbitmq", file: "application.properties",
			text: "spring.rabbitmq.listener.simple.retry.enabled=true\nspring.rabbitmq.listener.simple.retry.initial-interval=2s\n",
			want: []string{"2 HS210 note"},
		},
		{
			name: "haproxy: spread, off, one server, template", file: "haproxy.cfg",
			text: "global\n  spread-checks 4\ndefaults\n  default-server check\nbackend a\n  server x 192.0.2.1:80\n  server y 192.0.2.2:80\n",
		},
		{
			name: "haproxy: default-server checks, no-check", file: "haproxy.cfg",
			text: "global\n  daemon\nbackend a\n  default-server check inter 1s\n  server x 192.0.2.1:80 no-check\n  server-template w 1-3 app:80\n",
			want: []string{"1 HS220 note"},
		},
		{
			name: "haproxy: checks of one server, a comment", file: "haproxy.cfg",
			text: "global\nbackend a\n  server x 192.0.2.1:80 check\n  # server y 192.0.2.2:80 check\n  server z 192.0.2.3:80\n",
		},
		{
			name: "kafka client: base at the default maximum", file: "client.properties",
			text: "bootstrap.servers=a:9092\nreconnect.backoff.ms=1000\n",
			want: []string{"2 HS215 warning"},
		},
		{
			name: "kafka client: fine", file: "client.properties",
			text: "reconnect.backoff.ms=100\nconsumer.reconnect.backoff.ms=2000\nconsumer.reconnect.backoff.max.ms=20000\n",
		},
		{
			name: "salt", file: "etc/salt/minion",
			text: "master: salt\nrecon_default: 1000\nrecon_randomize: False\n", want: []string{"3 HS215 warning"},
		},
		{
			name: "telegraf", file: "telegraf.conf",
			text: "[agent]\n  interval = \"10s\"\n  round_interval = true\n  collection_jitter = \"0s\"\n[[outputs.file]]\n",
			want: []string{"4 HS215 note"},
		},
		{
			name: "telegraf with jitter", file: "telegraf.conf",
			text: "[agent]\n  interval = \"10s\"\n  collection_jitter = \"3s\"\n[[outputs.file]]\n",
		},
		{
			name: "mosquitto jittered", file: "mosquitto.conf", text: "connection a\naddress b\nrestart_timeout 5 30\n",
		},
	})
}

func TestRetryCode(t *testing.T) {
	runTextCases(t, []textCase{
		{
			name: "celery", file: "tasks.py", optIn: "code",
			text: "from celery import shared_task\n\n@shared_task(autoretry_for=(IOError,))\ndef a(): ...\n\n" +
				"@shared_task(autoretry_for=(IOError,), retry_backoff=True)\ndef b(): ...\n\n" +
				"@shared_task(autoretry_for=(IOError,), retry_backoff=5,\n             retry_jitter=False)\ndef c(): ...\n\n" +
				"@shared_task(bind=True,\n  retry_backoff=True)\ndef d(self):\n    raise self.retry(countdown=60)\n\n" +
				"@shared_task\ndef e(self):\n    raise self.retry(countdown=random.uniform(30, 90))\n",
			want: []string{"3 HS202 warning", "10 HS204 warning", "14 HS205 error", "16 HS202 warning"},
		},
		{
			name: "tenacity", file: "a.py", optIn: "code",
			text: "from tenacity import *\n\n@retry\ndef a(): ...\n\n@retry(stop=stop_after_attempt(3), wait=wait_fixed(2))\ndef b(): ...\n\n" +
				"@retry(stop=stop_after_attempt(3), wait=wait_exponential(max=9))\ndef c(): ...\n\n" +
				"@retry(stop=stop_after_attempt(3), wait=wait_fixed(3) + wait_random(0, 2))\ndef d(): ...\n\n" +
				"@retry(stop=stop_after_delay(300), wait=wait_exponential_jitter(initial=1, max=8))\ndef e(): ...\n",
			want: []string{"3 HS201 warning", "3 HS206 warning", "6 HS202 warning", "9 HS203 warning", "15 HS208 warning"},
		},
		{
			name: "urllib3", file: "a.py", optIn: "code",
			text: "from urllib3.util.retry import Retry\nRetry(total=5)\nRetry(5, backoff_factor=0.5)\n" +
				"Retry(total=4, backoff_factor=1, backoff_jitter=1)\nRetry(total=9, backoff_factor=1, backoff_jitter=1, backoff_max=8)\nRetry(0)\n",
			want: []string{"2 HS201 warning", "3 HS203 warning", "5 HS208 warning"},
		},
		{
			name: "javascript", file: "a.ts", optIn: "code",
			text: "import pRetry from 'p-retry';\nimport axiosRetry from 'axios-retry';\nimport { Queue } from 'bullmq';\n" +
				"pRetry(run, { retries: 5 });\npRetry(run, { retries: 5, randomize: true });\n" +
				"pRetry(run, { retries: 9, randomize: true, maxTimeout: 4000 });\npRetry(run, options);\n" +
				"axiosRetry(client, { retries: 3 });\naxiosRetry(client, { retryDelay: axiosRetry.exponentialDelay });\n" +
				"axiosRetry(client, { retryDelay: (n) => n * 1000 });\n" +
				"q.add('a', {}, { attempts: 3, backoff: 5000 });\nq.add('b', {}, { backoff: { type: 'exponential', delay: 1000 } });\n" +
				"q.add('c', {}, { backoff: { type: 'exponential', delay: 1000, jitter: 0.5 } });\n// pRetry(run, { retries: 2 })\n",
			want: []string{
				"4 HS203 warning", "6 HS208 warning", "8 HS201 warning", "10 HS203 warning", "11 HS202 warning", "12 HS203 warning",
			},
		},
		{
			name: "go", file: "a.go", optIn: "code",
			text: "package a\nimport \"github.com/hashicorp/go-retryablehttp\"\nimport \"github.com/cenkalti/backoff/v4\"\n" +
				"var c = retryablehttp.NewClient()\nvar b = backoff.NewConstantBackOff(5 * time.Second)\n" +
				"var d = backoff.ExponentialBackOff{RandomizationFactor: 0, Multiplier: 2}\nvar e = backoff.NewExponentialBackOff()\n",
			want: []string{"4 HS203 warning", "5 HS202 warning", "6 HS204 warning"},
		},
		{
			name: "go with jitter", file: "a.go", optIn: "code",
			text: "package a\nimport \"github.com/hashicorp/go-retryablehttp\"\nfunc f() { c := retryablehttp.NewClient()\nc.Backoff = retryablehttp.LinearJitterBackoff }\n",
		},
		{
			name: "spring", file: "A.java", optIn: "code",
			text: "class A {\n @Retryable\n void a() {}\n @Retryable(maxAttempts = 4, backoff = @Backoff(delay = 500, multiplier = 2))\n void b() {}\n" +
				" @Retryable(backoff = @Backoff(delay = 500, multiplier = 2, random = true))\n void c() {}\n" +
				" @Retryable(backoff = @Backoff(delay = 500, random = true))\n void d() {}\n @Retryable(backoff = @Backoff(delay = 100, maxDelay = 900))\n void e() {}\n}\n",
			want: []string{"2 HS202 warning", "4 HS203 warning", "8 HS205 error"},
		},
		{
			name: "spring 7, an interceptor, exceptions as value", file: "A.java", optIn: "code",
			text: "class A {\n @Retryable(maxRetries = 4, delay = 100, jitter = 10, multiplier = 2)\n void a() {}\n" +
				" @Retryable(delay = 100, multiplier = 2)\n void b() {}\n @Retryable(interceptor = \"x\")\n void c() {}\n" +
				" @Retryable(value = IOException.class)\n void d() {}\n}\n",
			want: []string{"4 HS203 warning", "8 HS202 warning"},
		},
		{
			name: "node-retry and async-retry", file: "a.js", optIn: "code",
			text: "const retry = require('async-retry');\nawait retry(run);\nawait retry(run, { retries: 5 });\n" +
				"await retry(run, { retries: 5, randomize: false });\nconst op = retry.operation({ retries: 3 });\n",
			want: []string{"4 HS204 warning", "5 HS203 warning"},
		},
		{
			name: "resilience4j in code", file: "A.java", optIn: "code",
			text: "import io.github.resilience4j.retry.RetryConfig;\nclass A {\n  RetryConfig a = RetryConfig.custom()\n    .maxAttempts(3)\n" +
				"    .waitDuration(Duration.ofMillis(1000))\n    .build();\n" +
				"  RetryConfig b = RetryConfig.custom().intervalFunction(IntervalFunction.ofExponentialBackoff()).build();\n" +
				"  RetryConfig c = RetryConfig.<Integer>custom().intervalFunction(IntervalFunction.ofExponentialRandomBackoff()).build();\n" +
				"  RetryConfig d = RetryConfig.custom().intervalFunction(n -> f(n)).build();\n}\n",
			want: []string{"3 HS202 warning", "7 HS203 warning"},
		},
		{
			name: "others", file: "Job.php", optIn: "code",
			text: "<?php\nclass Job implements ShouldQueue {\n  public $tries = 3;\n  public $backoff = [10, 60, 300];\n}\n",
			want: []string{"4 HS210 note"},
		},
		{
			name: "active job", file: "job.rb", optIn: "code",
			text: "class A < ApplicationJob\n  retry_on Timeout, wait: 5.seconds\n  retry_on Other, wait: 5.seconds, jitter: 0\nend\n",
			want: []string{"3 HS204 warning"},
		},
		{
			name: "polly", file: "A.cs", optIn: "code",
			text: "var a = new RetryStrategyOptions { MaxRetryAttempts = 3, Delay = TimeSpan.FromSeconds(1) };\n" +
				"var b = new RetryStrategyOptions { UseJitter = true };\nvar c = new HttpRetryStrategyOptions { MaxRetryAttempts = 3 };\n",
			want: []string{"1 HS202 warning"},
		},
	})
}

func TestCodeIsReadOnDemandOnly(t *testing.T) {
	res := lintText(t, "a.py", "from tenacity import retry\n@retry\ndef a(): ...\n", Options{})
	if len(res.Problems) != 0 || res.Files.Recognised != 0 {
		t.Errorf("read without being asked: %v", brief(res))
	}
}
