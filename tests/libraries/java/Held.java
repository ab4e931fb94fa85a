/** A lock that is held: how it is let go, and its token where the library tells it. */
interface Held {
    void release() throws Exception;

    /** The token's bytes; none where the library keeps it to itself. */
    default byte[] token() {
        return null;
    }
}
