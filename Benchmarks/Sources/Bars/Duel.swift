/// The times of two programs that take turns.
package struct Duel {
  /// The numbers of each program by round, without the first round, which is for one-time work.
  package private(set) var answers: [[[Double]]] = [[], []]

  /// Runs the rounds. Both programs answer the request of a round, and the first one changes.
  ///
  /// Throws if numbers beside the seconds differ, as both did other work then.
  package init(
    _ first: RoundProgram, _ second: RoundProgram, rounds: Int, _ request: (Int) -> String
  ) throws {
    let programs = [first, second]
    for round in 0...rounds {
      var found: [[Double]] = [[], []]
      for which in [round % 2, 1 - round % 2] { found[which] = try programs[which].round(request(round)) }
      guard found[0].dropFirst() == found[1].dropFirst() else {
        throw BenchmarkError("\(request(round)): \(found[0]) and \(found[1]) are of different work")
      }
      if round > 0 { for which in 0..<2 { answers[which].append(found[which]) } }
    }
  }

  /// The seconds of each round, of one of the programs.
  package func seconds(of which: Int) -> [Double] { answers[which].map { $0[0] } }

  /// The first program's time divided by the second's, for each round.
  package var ratios: [Double] { zip(seconds(of: 0), seconds(of: 1)).map { $0 / $1 } }
}
