import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.Lock;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.redis.spring.RedisLockProvider;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.integration.redis.util.RedisLockRegistry;
import org.springframework.scheduling.concurrent.ThreadPoolTaskScheduler;

/** ShedLock's Redis provider and Spring Integration's RedisLockRegistry, on one connection factory. */
final class SpringLocks {
    private final JedisConnectionFactory connections;
    private final RedisLockProvider shedlock;
    private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
    private final Map<String, RedisLockRegistry> registries = new HashMap<>();

    SpringLocks(String host, int port) {
        connections = new JedisConnectionFactory(new RedisStandaloneConfiguration(host, port));
        connections.afterPropertiesSet();
        connections.start();
        shedlock = new RedisLockProvider(connections);
    }

    Held take(String kind, String name, long leaseMs) throws Exception {
        return switch (kind) {
            case "shedlock" -> shedlock(name, Duration.ofMillis(leaseMs), false);
            case "shedlock-extend" -> shedlock(name, Duration.ofMillis(leaseMs), true);
            case "spring", "spring-renewal" -> registered(kind, name, leaseMs);
            default -> throw new IllegalArgumentException("no such case: " + kind);
        };
    }

    /**
     * Extended at half of its time as KeepAliveLockProvider does, which takes no lease under 30 seconds. The lock that
     * extend() gives replaces the one before it.
     */
    private Held shedlock(String name, Duration atMost, boolean extended) {
        SimpleLock taken = shedlock.lock(new LockConfiguration(Instant.now(), name, atMost, Duration.ZERO))
                .orElseThrow(() -> new IllegalStateException("somebody else has it"));
        if (!extended) {
            return Held.of(written("job-lock:default:" + name), taken::unlock);
        }
        AtomicReference<SimpleLock> lock = new AtomicReference<>(taken);
        long period = atMost.toMillis() / 2;
        ScheduledFuture<?> extending = timer.scheduleAtFixedRate(
                () -> lock.set(lock.get().extend(atMost, Duration.ZERO)
                        .orElseThrow(() -> new IllegalStateException("it cannot be extended"))),
                period, period, TimeUnit.MILLISECONDS);
        return Held.of(written("job-lock:default:" + name), () -> {
            extending.cancel(false);
            // One thread: what runs after the cancelled task runs when it has ended.
            timer.submit(() -> lock.get().unlock()).get();
        });
    }

    private Held registered(String kind, String name, long leaseMs) throws InterruptedException {
        Lock lock = registry(kind, leaseMs).obtain(name);
        if (!lock.tryLock(1, TimeUnit.SECONDS)) {
            throw new IllegalStateException("somebody else has it");
        }
        return Held.of(written(kind + ":" + name), lock::unlock);
    }

    /** The token, which these libraries tell nobody but the server. */
    private List<byte[]> written(String key) {
        return List.of(new StringRedisTemplate(connections).opsForValue().get(key).getBytes(StandardCharsets.UTF_8));
    }

    /** One for each kind and lease; its keys begin with the kind. */
    private synchronized RedisLockRegistry registry(String kind, long leaseMs) {
        return registries.computeIfAbsent(kind + leaseMs, key -> {
            RedisLockRegistry registry = new RedisLockRegistry(connections, kind, leaseMs);
            if (kind.equals("spring-renewal")) {
                ThreadPoolTaskScheduler scheduler = new ThreadPoolTaskScheduler();
                scheduler.setDaemon(true);
                scheduler.initialize();
                registry.setRenewalTaskScheduler(scheduler);
            }
            return registry;
        });
    }
}
