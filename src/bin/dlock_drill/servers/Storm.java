// A worker on a JVM for the rehearsal of a collector's storm. It takes one lock, and one thread renews it, beats and works.
// It reads one command a line from its standard input and answers each with one line:
//   fill MS    fills the heap until a full collection takes so many milliseconds, begins to beat, and says how long one took
//   more MS    the same once more, when it beats already
//   hold       takes the lock, and renews it from then on
//   storm N    N full collections, one after the other, with next to nothing between them
//   lost       how often the lease was gone when it was to be renewed; the lock is taken anew then
// It ends with its input. Arguments: host, port, key, token, key of the heartbeat, lease and period in milliseconds. The
// password comes from the environment, DLOCK_DRILL_PASSWORD. It must not be taken for a lock library.
import java.io.*;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

public class Storm {
    /** Many small objects that point to each other are what a collector has to follow one by one. */
    static final class Node { Node a, b; }
    static final List<Node[]> kept = new ArrayList<>();
    static final int BLOCK = 100_000;
    static final String RENEW =
        "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) else return 0 end";
    static volatile boolean holds;
    static volatile int lost;
    static volatile String token;
    static int tenures;

    static final class Client {
        final InputStream in;
        final OutputStream out;
        Client(String host, int port) throws IOException {
            Socket socket = new Socket(host, port);
            socket.setSoTimeout(10_000);
            in = new BufferedInputStream(socket.getInputStream());
            out = socket.getOutputStream();
            String password = System.getenv("DLOCK_DRILL_PASSWORD");
            if (password != null && !password.isEmpty()) call("AUTH", password);
        }
        String call(String... words) throws IOException {
            StringBuilder text = new StringBuilder("*" + words.length + "\r\n");
            for (String w : words) text.append("$").append(w.length()).append("\r\n").append(w).append("\r\n");
            out.write(text.toString().getBytes(StandardCharsets.ISO_8859_1));
            out.flush();
            String line = line();
            if (line.startsWith("$") && !line.startsWith("$-")) return line();
            if (line.startsWith("-")) throw new IOException(words[0] + ": " + line);
            return line;
        }
        String line() throws IOException {
            StringBuilder line = new StringBuilder();
            for (int c; (c = in.read()) != '\n'; ) {
                if (c < 0) throw new IOException("the server closed the connection");
                if (c != '\r') line.append((char) c);
            }
            return line.toString();
        }
    }

    static void grow() {
        Node[] block = new Node[BLOCK];
        for (int i = 0; i < BLOCK; i++) {
            block[i] = new Node();
            block[i].a = block[i / 2];
            block[i].b = kept.isEmpty() ? null : kept.get(kept.size() - 1)[(i * 7919) % BLOCK];
        }
        kept.add(block);
    }

    static long collect() {
        long begun = System.nanoTime();
        System.gc();
        return (System.nanoTime() - begun) / 1_000_000;
    }

    /** So many objects that a collection takes that long, by how long one of fewer takes; the heap has its end. */
    static long fill(long wanted) {
        Runtime runtime = Runtime.getRuntime();
        while (true) {
            for (int i = 0; i < 5; i++) grow();
            long took = Math.max(1, collect());
            // The shorter of two: a busy machine makes single ones long, and the first one of a larger heap is.
            if (took >= wanted) took = Math.min(took, collect());
            long used = runtime.totalMemory() - runtime.freeMemory();
            if (took >= wanted || used > runtime.maxMemory() * 7 / 10) return took;
            long more = Math.min(kept.size() * wanted / took - kept.size(), kept.size() * 4L);
            while (--more > 0 && used < runtime.maxMemory() * 7 / 10) {
                grow();
                used = runtime.totalMemory() - runtime.freeMemory();
            }
        }
    }

    /** Each acquire has a token of its own. */
    static String take(Client redis, String[] args) throws IOException {
        token = args[3] + "-" + ++tenures;
        return redis.call("SET", args[2], token, "NX", "PX", args[5]);
    }

    static void work(Client redis, String[] args) {
        long n = 0;
        try {
            while (true) {
                redis.call("SET", args[4], Long.toString(++n));
                if (holds && !":1".equals(redis.call("EVAL", RENEW, "1", args[2], token, args[5]))) {
                    lost++;
                    take(redis, args);
                }
                Thread.sleep(Long.parseLong(args[6]));
            }
        } catch (IOException | InterruptedException e) {
            System.err.println(e);
            System.exit(1);
        }
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        Client redis = new Client(args[0], Integer.parseInt(args[1]));
        Client own = new Client(args[0], Integer.parseInt(args[1]));
        Thread worker = new Thread(() -> work(redis, args));
        worker.setDaemon(true);
        System.out.println("ready");
        for (String line; (line = in.readLine()) != null; ) {
            String[] words = line.split(" ");
            long n = words.length > 1 ? Long.parseLong(words[1]) : 0;
            switch (words[0]) {
                case "fill": System.out.println(fill(n)); worker.start(); break;
                case "more": System.out.println(fill(n)); break;
                case "hold":
                    String taken = take(own, args);
                    holds = taken.equals("+OK");
                    System.out.println(taken);
                    break;
                case "storm":
                    long longest = 0;
                    for (long i = 0; i < n; i++) longest = Math.max(longest, collect());
                    System.out.println(longest);
                    break;
                case "lost": System.out.println(lost); break;
                default: System.out.println("?"); break;
            }
        }
    }
}
