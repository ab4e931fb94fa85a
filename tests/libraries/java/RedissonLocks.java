import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RReadWriteLock;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * Redisson's locks. A lock without a lease time of its own is renewed by the client's watchdog, whose timeout is the
 * lease; there is one client for each timeout. Every call is made on the thread that owns the lock.
 */
final class RedissonLocks {
    private final String host;
    private final int port;
    private final Map<Long, RedissonClient> clients = new HashMap<>();

    RedissonLocks(String host, int port) {
        this.host = host;
        this.port = port;
    }

    Held take(String kind, String name, long leaseMs) throws Exception {
        RedissonClient client = client(leaseMs);
        return switch (kind) {
            case "redisson" -> watched(client, client.getLock(name));
            case "redisson-lease" -> leased(client, client.getLock(name), leaseMs);
            case "redisson-spin" -> watched(client, client.getSpinLock(name));
            case "redisson-fair" -> fair(client, name, leaseMs);
            case "redisson-fenced" -> fenced(client, client.getFencedLock(name));
            case "redisson-readers" -> readers(client, client.getReadWriteLock(name));
            case "redisson-writer" -> watched(client, client.getReadWriteLock(name).writeLock());
            case "redisson-multi" -> watched(client, client.getMultiLock(name, List.of("seat-1", "seat-2")));
            case "redisson-permits" -> permits(client, name, leaseMs);
            default -> throw new IllegalArgumentException("no such case: " + kind);
        };
    }

    private synchronized RedissonClient client(long leaseMs) {
        return clients.computeIfAbsent(leaseMs, ms -> {
            Config config = new Config();
            config.setLockWatchdogTimeout(ms);
            // Of the default of 32 threads each nothing would come but a slower start.
            config.setNettyThreads(4).setThreads(4);
            config.useSingleServer().setAddress("redis://" + host + ":" + port)
                    .setConnectionPoolSize(8).setConnectionMinimumIdleSize(2);
            return Redisson.create(config);
        });
    }

    /** As Redisson writes it. */
    private static byte[] owner(RedissonClient client, long thread) {
        return (client.getId() + ":" + thread).getBytes(StandardCharsets.UTF_8);
    }

    private static Held held(RedissonClient client, RLock lock) {
        return Held.of(List.of(owner(client, Thread.currentThread().getId())), lock::unlock);
    }

    private static Held watched(RedissonClient client, RLock lock) {
        lock.lock();
        return held(client, lock);
    }

    private static Held leased(RedissonClient client, RLock lock, long leaseMs) {
        lock.lock(leaseMs, TimeUnit.MILLISECONDS);
        return held(client, lock);
    }

    private static Held fenced(RedissonClient client, RFencedLock lock) {
        System.err.println("fencing token " + lock.lockAndGetToken());
        return held(client, lock);
    }

    /** With a second thread in the queue until the lock is let go. The lease must last that long, or that thread gets it. */
    private static Held fair(RedissonClient client, String name, long leaseMs) {
        Held held = leased(client, client.getFairLock(name), leaseMs);
        ExecutorService waiter = Executors.newSingleThreadExecutor();
        Future<Boolean> waiting = waiter.submit(() -> client.getFairLock(name).tryLock(1, 1, TimeUnit.HOURS));
        return Held.of(held.tokens(), () -> {
            waiting.cancel(true);
            waiter.shutdown();
            if (!waiter.awaitTermination(10, TimeUnit.SECONDS)) {
                throw new IllegalStateException("the waiter does not stop waiting");
            }
            held.release();
        });
    }

    /** This thread and one more. */
    private static Held readers(RedissonClient client, RReadWriteLock lock) throws Exception {
        ExecutorService second = Executors.newSingleThreadExecutor();
        Held mine = watched(client, lock.readLock());
        Held other = second.submit((Callable<Held>) () -> watched(client, lock.readLock())).get();
        List<byte[]> tokens = List.of(mine.tokens().get(0), other.tokens().get(0));
        return Held.of(tokens, () -> {
            second.submit(() -> {
                other.release();
                return null;
            }).get();
            second.shutdown();
            mine.release();
        });
    }

    /** Beside it a plain semaphore, which only counts what is left and names nobody. */
    private static Held permits(RedissonClient client, String name, long leaseMs) throws Exception {
        RPermitExpirableSemaphore semaphore = client.getPermitExpirableSemaphore(name);
        RSemaphore plain = client.getSemaphore(name + "-plain");
        semaphore.trySetPermits(3);
        plain.trySetPermits(3);
        String permit = semaphore.acquire(leaseMs, TimeUnit.MILLISECONDS);
        plain.acquire();
        return Held.of(List.of(HexFormat.of().parseHex(permit)), () -> {
            plain.release();
            semaphore.release(permit);
        });
    }
}
