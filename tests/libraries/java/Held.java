import java.util.List;

/** A lock that is held: how it is let go, and the tokens of its owners. */
interface Held {
    void release() throws Exception;

    /** The owners' tokens, as bytes; none where there are none. */
    default List<byte[]> tokens() {
        return List.of();
    }

    /** A lock with these tokens. */
    static Held of(List<byte[]> tokens, Release release) {
        return new Held() {
            @Override
            public void release() throws Exception {
                release.run();
            }

            @Override
            public List<byte[]> tokens() {
                return tokens;
            }
        };
    }

    /** What lets a lock go. */
    interface Release {
        void run() throws Exception;
    }
}
