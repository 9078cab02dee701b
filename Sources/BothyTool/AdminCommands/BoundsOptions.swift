import ArgumentParser
import BothySync
import BothySyncService

/// The limits for the cost of one request to a server.
struct BoundsOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp("How long one query may take: longer ones are ended with 503.", valueName: "time"))
  var queryTime = "10s"
  @Option(
    help: ArgumentHelp(
      "About how many megabytes of records one answer brings; the rest follows with the next.",
      valueName: "n"))
  var answerMegabytes = 8
  @Option(help: ArgumentHelp("The most places that one request pulls from, 64 at least.", valueName: "n"))
  var pulls = 64

  func validate() throws {
    guard time != nil else { throw ValidationError("--query-time is a time from 100ms to 10m, such as 10s.") }
    guard (1...1024).contains(answerMegabytes) else {
      throw ValidationError("--answer-megabytes is from 1 to 1024.")
    }
    guard (64...10_000).contains(pulls) else { throw ValidationError("--pulls is from 64 to 10000.") }
  }

  private var time: Duration? {
    guard let milliseconds = CLIClock.offset("+" + queryTime), (100...600_000).contains(milliseconds) else {
      return nil
    }
    return .milliseconds(milliseconds)
  }

  func set(_ rules: inout AuthorityRules) {
    if let time { rules.queryTime = time }
    rules.answerSize = answerMegabytes << 20
    rules.pullLimit = pulls
  }
}
