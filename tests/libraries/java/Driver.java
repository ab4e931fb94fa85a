import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.stream.Collectors;

/**
 * Driver of the Java lock libraries: takes and frees their locks as it is told on standard input, one command a line, and
 * keeps them as their users would. It decides nothing about what is right. The lines that it answers are told in
 * tests/libraries.rs.
 */
public final class Driver {
    /** A lock with the thread that took it: only that thread may free it. */
    private record Owned(Held held, ExecutorService thread) {}

    private final Map<String, Owned> locks = new HashMap<>();
    private final RedissonLocks redisson;
    private final SpringLocks spring;

    private Driver(String host, int port) {
        redisson = new RedissonLocks(host, port);
        spring = new SpringLocks(host, port);
    }

    public static void main(String[] args) throws Exception {
        String[] address = args[0].split(":");
        // What libraries print must not be taken for an answer.
        PrintStream answers = System.out;
        System.setOut(System.err);
        Driver driver = new Driver(address[0], Integer.parseInt(address[1]));
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null && !line.equals("quit"); line = lines.readLine()) {
            answers.println(driver.answer(line.trim().split(" +")));
            answers.flush();
        }
        System.exit(0);
    }

    private String answer(String[] words) {
        String name = words.length == 4 ? words[2] : words[words.length - 1];
        try {
            if (words.length == 4 && words[0].equals("acquire")) {
                return "held " + name + " " + acquire(words[1], name, Long.parseLong(words[3]));
            }
            if (words.length == 2 && words[0].equals("release")) {
                release(name);
                return "released " + name;
            }
            return "failed - not a command";
        } catch (Exception e) {
            Throwable cause = e instanceof ExecutionException ? e.getCause() : e;
            cause.printStackTrace();
            return "failed " + name + " " + String.valueOf(cause).replace('\n', ' ');
        }
    }

    private String acquire(String kind, String name, long leaseMs) throws Exception {
        if (locks.containsKey(name)) {
            // It lapsed. An application that finds out lets go as ever, and the library says that it was too late.
            try {
                release(name);
            } catch (Exception e) {
                System.err.println(name + " was lost: " + e);
            }
        }
        ExecutorService thread = Executors.newSingleThreadExecutor();
        Held held = thread.submit(() -> take(kind, name, leaseMs)).get();
        locks.put(name, new Owned(held, thread));
        String tokens = held.tokens().stream().map(HexFormat.of()::formatHex).collect(Collectors.joining(","));
        return tokens.isEmpty() ? "-" : tokens;
    }

    private Held take(String kind, String name, long leaseMs) throws Exception {
        return kind.startsWith("redisson") ? redisson.take(kind, name, leaseMs) : spring.take(kind, name, leaseMs);
    }

    private void release(String name) throws Exception {
        Owned owned = locks.remove(name);
        if (owned == null) {
            throw new IllegalStateException("it is not held");
        }
        try {
            owned.thread().submit(() -> {
                owned.held().release();
                return null;
            }).get();
        } finally {
            owned.thread().shutdown();
        }
    }
}
