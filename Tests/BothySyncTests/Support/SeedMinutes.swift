import Foundation

/// Minutes that a suite over random histories may take: ten, and a second for each history of `BOTHY_SEEDS`.
let minutesForSeeds = 10 + (ProcessInfo.processInfo.environment["BOTHY_SEEDS"].flatMap { Int($0) } ?? 0) / 60
