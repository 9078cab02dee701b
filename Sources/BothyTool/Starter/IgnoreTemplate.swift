/// The list of files that git leaves out: builds, tokens and databases.
enum IgnoreTemplate {
  static let text = """
    .build/
    .swiftpm/
    .DS_Store
    tokens.json*
    *.bothy
    *.bothy-*
    *.sqlite
    *.sqlite-*

    """
}
