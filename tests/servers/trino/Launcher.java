import io.trino.server.Server;

/** Starts Trino from its jars; its configuration is named by -Dconfig. */
public final class Launcher
{
    private Launcher() {}

    public static void main(String[] arguments)
    {
        new Server().start(arguments[0]);
    }
}
