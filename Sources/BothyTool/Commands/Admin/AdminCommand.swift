import ArgumentParser

/// `bothy admin`: the administration of a server.
struct AdminCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "admin",
    abstract: "Looks after a server: tokens, spaces, backups, and what to do after a restore.",
    discussion: """
      Works on the server's database, also while it runs: a file, or
      --database postgres://user@host/database with --blobs, their folder or
      s3://bucket/prefix.

      Who may enter:    bothy admin token create tokens.json --principal ada \\
                          --space home
      What is there:    bothy admin spaces --database server.sqlite
      Whose it is:      bothy admin principals --database server.sqlite home
      A backup:         bothy admin backup --database server.sqlite monday.sqlite
      Is it whole, and
      the same there:   bothy admin verify --database monday.sqlite
      After a restore:  bothy admin epoch bump --database server.sqlite --all
      A space as text:  bothy admin export --database server.sqlite home > home.jsonl
      Webhooks:         bothy admin webhooks list --database server.sqlite
      All on a page:    bothy admin page --database server.sqlite \\
                          --server http://127.0.0.1:8080
      A newer server:   bothy admin migrate postgres://bothy@db.internal/bothy
      """,
    subcommands: [
      TokenCommand.self, SpacesCommand.self, RemoveSpaceCommand.self, UsersCommand.self,
      StatsCommand.self, ExportSpaceCommand.self, ImportSpaceCommand.self, EpochCommand.self,
      VerifyCommand.self, CompactCommand.self, BackupCommand.self, WebhooksCommand.self, MigrateCommand.self,
      AdminPageCommand.self,
    ])
}
