import ArgumentParser
import BothyHTTP
import BothyStore
import BothySync

/// `bothy db sign-out`: signs the user of a database out, with or without pending changes.
struct SignOutCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sign-out",
    abstract: "Forgets the token, or removes the database with or without its pending changes.",
    discussion: """
      Without an option it removes the file, and refuses while anything is pending.
      --park keeps file and pending changes and forgets the token. --export writes
      the pending changes to a document and removes the file, and `bothy db create
      --pending` takes them back. --discard loses them. No document holds the values
      of sensitive fields: --export is refused while any wait, and --without-secrets
      exports all the same, their records as drafts for `bothy release`.

      Example:  bothy db sign-out notes.bothy --export ann.json
      """)

  @OptionGroup var database: DatabaseOptions
  @Flag(help: "Keep the file and its pending changes, without the token.") var park = false
  @Option(
    help: ArgumentHelp("Write the pending changes to this new file.", valueName: "file"), completion: .file())
  var export: String?
  @Flag(help: "Export though values of sensitive fields wait: they are lost.") var withoutSecrets = false
  @Flag(help: "Lose the pending changes.") var discard = false
  @OptionGroup var output: OutputOptions

  func validate() throws {
    guard [park, export != nil, discard].count(where: { $0 }) <= 1 else {
      throw ValidationError("Choose one of --park, --export and --discard.")
    }
    guard export != nil || !withoutSecrets else {
      throw ValidationError("--without-secrets goes with --export.")
    }
  }

  private var form: Account.SignOut {
    if park { return .park }
    if let export { return withoutSecrets ? .exportWithoutSecrets(to: export) : .export(to: export) }
    return discard ? .discard : .refuseIfPending
  }

  func run() async throws {
    try await Session.with(database) { session in
      if park, var address = session.address {
        address.token = nil
        try session.store.remember(address)
      }
      let unanswered = try session.store.unansweredSaves().count
      let pending = try await session.store.signOut(form)
      try output.print {
        let kept = park ? "kept here" : export.map { "written to \($0)" } ?? "discarded"
        return (park ? "Signed out. " : "Signed out, and removed \(database.path). ")
          + (pending == 0 ? "Nothing was pending." : "Pending changes \(kept): \(pending).")
          + (unanswered == 0 || park
            ? "" : " Saves without an answer, which the server may have made: \(unanswered).")
      } json: { writer in
        writer.member("signedOut", true)
        writer.member("pending", pending)
        writer.member("unanswered", unanswered)
        writer.member("document", export)
      }
    }
  }
}
