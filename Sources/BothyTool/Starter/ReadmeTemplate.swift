/// The page about a new app, with the commands to start it.
enum ReadmeTemplate {
  static func text(_ name: StarterName, bothy path: String) -> String {
    """
    # \(name.text)

    An app that keeps its records in a file on the device and in agreement with a server.

    ## Start

    The server, in a terminal of its own:

    ```sh
    bothy \(StarterServer.arguments)
    ```

    The app, in another terminal. The first build takes some minutes:

    ```sh
    swift build
    ```

    ```sh
    swift run --skip-build \(name.text) add "Oil the lamp"
    ```

    The record is in the file `\(name.text).bothy` now. With the token that `bothy new` printed, the app can send it:

    ```sh
    export BOTHY_TOKEN=…    # the token
    swift run --skip-build \(name.text) sync
    swift run --skip-build \(name.text) other.bothy sync    # another file stands for another device
    swift run --skip-build \(name.text) other.bothy watch   # shows changes until Ctrl-C
    ```


    """ + files(name, bothy: path)
  }

  /// The table of the files, and how to make two of them again.
  private static func files(_ name: StarterName, bothy path: String) -> String {
    """
    ## Files

    | file | contents |
    |---|---|
    | `Package.swift` | the package, which uses Bothy in `\(path)` |
    | `Sources/\(name.module)/Item.swift` | the type of record, the file and the server's address |
    | `Sources/\(name.module)/CommandLineApp.swift` | the commands |
    | `schema.json` | the schema that the server checks records against |
    | `tokens.json` | the digests of the tokens that the server accepts, excluded from git |

    After a change of `Item`, write the schema again and restart the server:

    ```sh
    swift build && swift run --skip-build \(name.text) schema > schema.json
    ```

    The server keeps only the token's digest. If the token is lost, make another:

    ```sh
    bothy \(StarterServer.tokenArguments)
    ```

    The program `bothy` comes from the checkout of Bothy:

    ```sh
    BOTHY_SERVER=1 swift build --package-path \(path) -c release --product bothy
    ```

    """
  }
}
